# SPDX-License-Identifier: Apache-2.0
"""Faults of the model: read, shown, and gone when their time is over."""

from __future__ import annotations

import pytest

from muster.errors import UserError
from muster.lab.sim.broken import check_troubles
from muster.lab.sim.faults import ALL_FORMS, FORMS, STAGES, SimFaultKind, parse_stage, parse_trouble, slug_of
from muster.model.fault import BadFault
from tests.unit.lab.sim.made import START, machines_of, world_of


@pytest.mark.parametrize(
    "text",
    [
        "link:a/eno1",
        "loss:a=20%@60s..120s",
        "partition:a,b|c@60s",
        "duplicate-ip:a",
        "vip-in-use:192.0.2.5",
        "vip-in-use:2001:db8::5",
        "skew:a=-5400s",
        "slow-sync:a/sda=50ms",
        "lost:a=writing-image-to-disk",
        "image:registry.example.com/release@sha256:abc",
        "dns:*",
        "ntp:ntp.example.com",
    ],
)
def test_what_is_written_is_what_is_shown(text: str) -> None:
    assert str(parse_trouble(text)) == text


def test_every_kind_has_a_form_that_is_read() -> None:
    assert set(FORMS) == set(SimFaultKind)
    for form in ALL_FORMS:
        shown = (
            form.replace("HOST,HOST|HOST", "a,b|c").replace("STAGE", "done").replace("ADDRESS", "192.0.2.5")
        )
        assert str(parse_trouble(shown).fault).partition(":")[0] == form.partition(":")[0]


def test_stages_are_written_with_or_without_hyphens() -> None:
    for stage in STAGES:
        assert parse_stage(slug_of(stage)) == parse_stage(stage) == stage


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nonsense", "it has to be one of"),
        ("lost:a", "it is written lost:HOST=STAGE"),
        ("lost:a=breakfast", "is no stage"),
        ("lost:a/sda=done", "it is written"),
        ("skew:a=soon", "how far a clock is off"),
        ("skew:a=0s", "how far a clock is off"),
        ("slow-sync:a=1s", "the time of a sync"),
        ("slow-sync:a/=1ms", "it is written"),
        ("vip-in-use:api", "is no address"),
        ("dns:a=1", "it takes no amount"),
        ("link:a@60s..30s", "it ends before it begins"),
        ("loss:a", "it lacks an amount"),
    ],
)
def test_bad_faults(text: str, problem: str) -> None:
    with pytest.raises(BadFault, match=problem):
        parse_trouble(text)


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ("link:nobody", "there is no host nobody"),
        ("link:kvm-libvirt-0/eth9", "has no card eth9"),
        ("slow-disk:kvm-libvirt-0/sdx=1MB/s", "has no disk sdx"),
        ("partition:kvm-libvirt-0|nobody", "there is no host nobody"),
        ("lost:nobody=done", "there is no host nobody"),
    ],
)
def test_a_fault_of_what_is_not_there(fault: str, problem: str) -> None:
    machines = {machine.name: machine for machine in machines_of("kvm-libvirt")}
    with pytest.raises(UserError, match=problem) as raised:
        check_troubles([parse_trouble(fault)], machines)
    assert raised.value.hint


def test_a_fault_lasts_as_long_as_is_said() -> None:
    world = world_of(machines_of("kvm-libvirt"), "link:kvm-libvirt-0@60s..2m", "dns:*@90s")
    machine = world.machines["kvm-libvirt-0"]
    assert [world.reaches_service(machine, START + at) for at in (0, 59, 60, 119, 120)] == [
        True,
        True,
        False,
        False,
        True,
    ]
    assert [bool(world.broken(START + at).names) for at in (89, 90, 1e6)] == [False, True, True]
    assert world.broken(START + 60) is world.broken(START + 70), "what is broken is worked out once"


def test_a_clock_is_set_or_off() -> None:
    world = world_of(machines_of("kvm-libvirt", "openstack"), "clock:kvm-libvirt-0=2027-01-01", "skew:*=-2h")
    assert world.broken(START).skew == {"kvm-libvirt-0": -7200, "openstack-1": -7200}
    world = world_of(machines_of("kvm-libvirt"), "clock:kvm-libvirt-0=2027-01-01@10s")
    assert world.broken(START + 20).skew == {"kvm-libvirt-0": 1798761600 - START - 10}


def test_a_bond_lives_with_one_card_and_dies_with_the_last() -> None:
    machines = machines_of("hpe-dl380-p408i")
    one = world_of(machines, "link:hpe-dl380-p408i-0/ens1f0").broken(START)
    assert one.down == {"hpe-dl380-p408i-0/ens1f0"}
    both = world_of(machines, "link:hpe-dl380-p408i-0/ens1f0", "link:hpe-dl380-p408i-0/ens1f1").broken(START)
    assert "hpe-dl380-p408i-0/bond0" in both.down


def test_a_vlan_dies_with_its_card() -> None:
    down = world_of(machines_of("lenovo-sr630-vlan"), "link:lenovo-sr630-vlan-0/ens5f0np0").broken(START).down
    assert down == {"lenovo-sr630-vlan-0/ens5f0np0", "lenovo-sr630-vlan-0/ens5f0np0.110"}
