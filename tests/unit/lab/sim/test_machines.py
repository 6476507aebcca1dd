# SPDX-License-Identifier: Apache-2.0
"""Recorded machines, and hosts like them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from ipaddress import ip_address, ip_interface, ip_network
from pathlib import Path

import msgspec
import pytest

from muster.errors import MusterError
from muster.lab.sim.machines import WIDE, Machine, load_machine, load_machines, make_many, number_machine
from tests.unit.lab.sim.made import FOLDER

MACHINES = load_machines(FOLDER)
PUBLIC = [
    ip_network(each)
    for each in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "198.18.0.0/15", "2001:db8::/32")
]


def test_every_machine_is_described() -> None:
    described = set(re.findall(r"^\| `([^`]+)` \|", (FOLDER / "README.md").read_text("utf-8"), re.MULTILINE))
    assert described == {machine.kind for machine in MACHINES}
    assert len(MACHINES) >= 14


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.kind)
def test_nothing_in_a_recording_is_unknown_or_anybodys(machine: Machine) -> None:
    text = (FOLDER / f"{machine.kind}.json").read_text("utf-8")
    as_read = msgspec.json.decode(msgspec.json.encode(machine.inventory))
    assert as_read == msgspec.json.decode(text), "the file has a field that no inventory has"
    for card in machine.inventory.interfaces or ():
        assert (card.mac_address or "").startswith("02:00:")
    for address in (*_addresses(machine), *_gateways(machine)):
        parsed = ip_address(address)
        assert any(parsed in network for network in PUBLIC if network.version == parsed.version)
    for disk in machine.inventory.disks or ():
        assert disk.id
        assert disk.installation_eligibility is not None


def _addresses(machine: Machine) -> list[str]:
    cards = machine.inventory.interfaces or ()
    cidrs = [cidr for card in cards for cidr in (*(card.ipv4_addresses or ()), *(card.ipv6_addresses or ()))]
    return [str(ip_interface(cidr).ip) for cidr in cidrs]


def _gateways(machine: Machine) -> list[str]:
    return [route.gateway for route in machine.inventory.routes or () if route.gateway]


@pytest.mark.parametrize("count", [60, 1000])
def test_no_two_hosts_share_anything(count: int) -> None:
    hosts = list(make_many(MACHINES, count))
    assert len({host.host_id for host in hosts}) == count
    assert len({host.name for host in hosts}) == count
    _assert_own(hosts, lambda host: {card.mac_address for card in host.inventory.interfaces or ()})
    _assert_own(hosts, lambda host: set(_addresses(host)))
    _assert_own(hosts, lambda host: {disk.wwn for disk in host.inventory.disks or () if disk.wwn})
    _assert_own(hosts, lambda host: {disk.serial for disk in host.inventory.disks or () if disk.serial})
    assert list(make_many(MACHINES, count)) == hosts


def _assert_own(hosts: Iterable[Machine], values: object) -> None:
    seen: Counter[object] = Counter()
    for host in hosts:
        seen.update(values(host))  # type: ignore[operator]
    assert seen
    assert max(seen.values()) == 1


def test_disks_of_a_host_keep_their_own_names() -> None:
    machine = number_machine(load_machine(FOLDER / "supermicro-8-nics.json"), 513, WIDE)
    disks = machine.inventory.disks or ()
    assert len({disk.wwn for disk in disks}) == len({disk.serial for disk in disks}) == len(disks) == 5
    for disk in disks:
        assert disk.by_id == f"/dev/disk/by-id/wwn-{disk.wwn}" == disk.id
    assert [card.mac_address for card in machine.inventory.interfaces or ()][1] == "02:00:04:02:01:01"


def test_addresses_of_others_stay_where_they_are() -> None:
    machine = load_machine(FOLDER / "iscsi-boot.json")
    near = number_machine(machine, 5).inventory
    assert _gateways(Machine("", near)) == ["192.0.2.1"]
    assert near.bmc_address == "203.0.113.15"
    assert near.disks
    assert near.disks[0].iscsi
    assert near.disks[0].iscsi.host_ip_address == "198.51.100.15"
    far = number_machine(machine, 700, WIDE).inventory
    assert _gateways(Machine("", far)) == ["198.18.0.1"]
    assert [card.ipv4_addresses for card in far.interfaces or ()] == [
        ("198.18.2.198/16",),
        ("198.19.2.198/17",),
    ]


def test_the_bonded_card_and_the_card_that_booted_keep_their_address_in_common() -> None:
    bonded = number_machine(load_machine(FOLDER / "hpe-dl380-p408i.json"), 7).inventory
    macs = {card.name: card.mac_address for card in bonded.interfaces or ()}
    assert macs["bond0"] == macs["ens1f0"] == "02:00:02:00:07:02"
    booted = number_machine(load_machine(FOLDER / "dell-xr-bluefield.json"), 7).inventory
    assert booted.boot
    assert booted.boot.pxe_interface == "02:00:0f:00:07:00"


def test_identities_are_those_of_the_agent() -> None:
    kvm, dell = (load_machine(FOLDER / f"{kind}.json") for kind in ("kvm-libvirt", "dell-r650-perc"))
    vendor = dell.inventory.system_vendor
    assert vendor
    known = msgspec.structs.replace(vendor, serial_number="ABC123")
    known_dell = Machine("dell", msgspec.structs.replace(dell.inventory, system_vendor=known))
    assert known_dell.host_id == "bbf2dead-3746-54cb-b32a-917afd236656"
    assert kvm.host_id != number_machine(kvm, 1).host_id


@pytest.mark.parametrize(
    ("text", "problem"),
    [("{", "not the inventory"), ('{"hostname": 3}', "not the inventory"), ('{"hostname": "a"}', "lacks")],
)
def test_bad_recordings(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text, "utf-8")
    with pytest.raises(MusterError, match=problem) as raised:
        load_machine(path)
    assert raised.value.hint


def test_no_recordings(tmp_path: Path) -> None:
    with pytest.raises(MusterError, match="cannot read"):
        load_machine(tmp_path / "none.json")
    with pytest.raises(MusterError, match="holds no recorded machine"):
        load_machines(tmp_path)


def test_too_many_hosts() -> None:
    with pytest.raises(MusterError, match="has no room for host number 245"):
        number_machine(MACHINES[0], 245)
    with pytest.raises(MusterError, match="no host number"):
        number_machine(MACHINES[0], 65536)
