# SPDX-License-Identifier: Apache-2.0
"""Faults are data: what users write is what is kept and shown."""

from __future__ import annotations

import pytest

from muster.errors import UserError
from muster.lab.faults import check_fault, render_loss
from muster.lab.network import render_partition
from muster.model.fault import FORMS, BadFault, FaultKind, parse_fault, parse_place
from tests.unit.lab.plans import plan_of


@pytest.mark.parametrize(
    "text",
    [
        "link:a/eno1",
        "link:a",
        "loss:a/eno1=20%",
        "delay:a/eno1=200ms",
        "partition:a,b|c",
        "media:a",
        "power:a",
        "disk-full:a/disk0",
        "slow-disk:a/disk0=1MB/s",
        "clock:a=1970-01-01T00:00:00",
    ],
)
def test_what_is_written_is_what_is_shown(text: str) -> None:
    assert str(parse_fault(text)) == text


def test_every_kind_has_a_form_that_is_read() -> None:
    assert set(FORMS) == set(FaultKind)
    for kind, form in FORMS.items():
        assert parse_fault(form.replace("HOST,HOST|HOST", "a,b|c")).kind is kind


@pytest.mark.parametrize(
    ("text", "amount"),
    [("delay:a=2s", 2000), ("slow-disk:a=500KB/s", 500_000), ("clock:a=1970-01-02", 86400), ("loss:a=5", 5)],
)
def test_amounts(text: str, amount: int) -> None:
    assert parse_fault(text).amount == amount


@pytest.mark.parametrize(
    "text",
    [
        *("", "link", "link:", "bogus:a", "link:a=1", "loss:a", "loss:a=0%", "loss:a=101%", "delay:a=5"),
        *("media:a/cd", "partition:a", "partition:a|a", "partition:a|b|c", "clock:a=yesterday", "link:a/b/c"),
        *("slow-disk:a=fast", "slow-disk:a=0MB/s"),
    ],
)
def test_what_is_no_fault_says_what_would_be(text: str) -> None:
    with pytest.raises(BadFault) as error:
        parse_fault(text)
    assert str(error.value)


def test_healing_needs_no_amount() -> None:
    assert parse_place("loss:a/eno1").place == parse_fault("loss:a/eno1=20%").place
    assert parse_place("link:a").place == parse_fault("link:a").place


def test_a_fault_of_what_the_lab_does_not_have() -> None:
    plan = plan_of()
    with pytest.raises(UserError, match="no card eth7") as card:
        check_fault(plan, parse_fault("link:host-0/eth7"))
    assert "eno1" in card.value.hint
    with pytest.raises(UserError, match="no disk disk7"):
        check_fault(plan, parse_fault("slow-disk:host-0/disk7=1MB/s"))
    with pytest.raises(UserError, match="no machine x"):
        check_fault(plan, parse_fault("partition:host-0|x"))
    check_fault(plan, parse_fault("loss:host-0=5%"))


def test_a_partition_moves_cards_and_brings_them_back() -> None:
    plan = plan_of()
    assert render_partition(plan, ("host-1",), made=True) == [
        "link add island0 type bridge stp_state 0 mcast_snooping 0",
        "link set island0 up",
        "link set m1n0 master island0",
    ]
    assert render_partition(plan, ("host-1",), made=False) == [
        "link set m1n0 master lab0",
        "link del island0",
    ]


def test_loss_by_nftables() -> None:
    nic = plan_of().machines[0].nics[0]
    assert "numgen random mod 100 < 20 drop" in render_loss(nic, 20)
    assert "drop" not in render_loss(nic, 0)
