# SPDX-License-Identifier: Apache-2.0
"""Inventories are taken over, and the same machine is the same."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from muster.model.wire.inventory import Boot, Cpu, Disk, Gpu, Interface, IoPerf, Route
from muster.service.realm import Draft, Realm
from muster.service.refusals import BadRequest, StateConflict
from muster.service.replies.inventory import kept_once, normalise
from tests.unit.service.hosts import (
    NOW,
    answer,
    host_id,
    mac,
    make_disk,
    make_inventory,
    make_realm,
    settle,
    tell_inventory,
)


def test_the_same_machine_is_no_news() -> None:
    realm = make_realm(1)
    assert tell_inventory(realm, 1).events
    again = tell_inventory(realm, 1)
    assert again.events == []
    assert again.documents == {}


def test_what_changes_by_itself_is_no_news() -> None:
    realm = make_realm(1)
    cpu = Cpu(count=8, architecture="x86_64", frequency=2399.1, flags=("fpu", "vmx"))
    tell_inventory(realm, 1)
    restless = make_disk(smart="37 degrees", io_perf=IoPerf(sync_duration=4))
    assert tell_inventory(realm, 1, cpu=cpu, disks=(restless,)).events == []


def test_everything_is_filled_in_at_once() -> None:
    realm = make_realm(1, control_plane_count=1)
    draft = tell_inventory(realm, 1, disks=(make_disk("sdb", 50), make_disk("sda", 200)))
    host = realm.hosts[host_id(1)]
    assert host.inventory is not None
    assert host.inventory.disks is not None
    assert [disk.id for disk in host.inventory.disks] == [
        "/dev/disk/by-path/pci-sdb",
        "/dev/disk/by-path/pci-sda",
    ]
    assert host.installation_disk_path == "/dev/sda"
    assert host.disk_reason == "/dev/sda is the only disk that can be installed on"
    assert host.networks == ("198.18.0.0/16",)
    assert host.suggested_role == "master"
    assert len([each for each in draft.events if each.kind == "host" and each.values]) <= 2


def test_virtual_interfaces_are_left_out() -> None:
    kinds = ("physical", "veth", "bond", "vlan", "bridge", None)
    nics = tuple(Interface(name=f"nic{at}", type=kind) for at, kind in enumerate(kinds))
    realm = make_realm(1)
    tell_inventory(realm, 1, interfaces=nics)
    inventory = realm.hosts[host_id(1)].inventory
    assert inventory is not None
    assert [each.name for each in inventory.interfaces or ()] == ["nic0", "nic2", "nic3", "nic5"]


def test_processors_of_a_kind_are_kept_once() -> None:
    realm = make_realm(2)
    for number in (1, 2):
        answer(realm, number, "inventory", msgspec.json.encode(make_inventory(number)).decode())
    first, second = (host.inventory for host in realm.hosts.values())
    assert first is not None
    assert second is not None
    assert first.cpu is not None
    assert second.cpu is not None
    assert first.cpu.flags is second.cpu.flags


def test_a_host_that_is_being_installed_is_settled() -> None:
    realm = make_realm(1)
    draft = Draft(realm, NOW)
    draft.change(draft.hosts[host_id(1)], status="preparing-for-installation")
    settle(draft)
    with pytest.raises(StateConflict, match="its inventory is settled"):
        tell_inventory(realm, 1)
    assert realm.hosts[host_id(1)].inventory is None


def test_nonsense_changes_nothing() -> None:
    realm = make_realm(1)
    tell_inventory(realm, 1)
    before = realm.hosts[host_id(1)]
    with pytest.raises(BadRequest):
        answer(realm, 1, "inventory", '{"hostname": ')
    assert realm.hosts[host_id(1)] is before


def installed_anew() -> Realm:
    """A host that lost power while its second disk was written."""
    realm = make_realm(1)
    disks = (make_disk("sda", 100, serial="A"), make_disk("sdb", 200, serial="B"))
    tell_inventory(realm, 1, disks=disks)
    draft = Draft(realm, NOW)
    chosen = {"installation_disk_id": "/dev/disk/by-path/pci-sdb", "installation_disk_path": "/dev/sdb"}
    draft.change(draft.hosts[host_id(1)], status="installing", disk_unsure=True, restarts=1, **chosen)
    settle(draft)
    return realm


def test_the_disk_of_before_is_found_under_its_new_name() -> None:
    realm = installed_anew()
    moved = make_disk("sda", 200, serial="B"), make_disk("sdb", 100, serial="A")
    tell_inventory(realm, 1, disks=moved)
    host = realm.hosts[host_id(1)]
    assert (host.status, host.disk_unsure, host.installation_disk_path) == ("installing", False, "/dev/sda")


@pytest.mark.parametrize(
    "there",
    [
        (make_disk("sdb", 200, serial="C"),),
        (make_disk("sdb", 300, serial="B"),),
        (make_disk("sdc", 200, serial="B"), make_disk("sdd", 200, serial="B")),
    ],
)
def test_another_disk_is_not_written_instead(there: tuple[Disk, ...]) -> None:
    realm = installed_anew()
    tell_inventory(realm, 1, disks=there)
    host = realm.hosts[host_id(1)]
    assert host.status == "error"
    assert "/dev/sdb (serial B) that it was to be installed on is not there" in host.status_info


@pytest.mark.parametrize(
    ("name", "many"),
    [
        ("interfaces", {"interfaces": (Interface(name="a"),) * 513}),
        ("disks", {"disks": (make_disk(),) * 1001}),
        ("addresses", {"interfaces": (Interface(name="a", ipv4_addresses=("192.0.2.1/24",) * 513),)}),
        ("routes", {"routes": (Route(interface="a"),) * 2001}),
        ("gpus", {"gpus": (Gpu(name="a"),) * 257}),
        ("processor flags", {"cpu": Cpu(flags=("a",) * 513)}),
        ("host name", {"hostname": "a" * 256}),
        ("interface name", {"interfaces": (Interface(name="a" * 65),)}),
        ("MAC", {"interfaces": (Interface(name="a", mac_address="a" * 65),)}),
        ("address", {"interfaces": (Interface(name="a", ipv6_addresses=(f"fe80::1%{'a' * 60}/64",)),)}),
        ("text of more than 8192 bytes", {"boot": Boot(command_line="a" * 8193)}),
        ("more than 768 KiB", {"disks": (make_disk(model="a" * 8000),) * 100}),
    ],
)
def test_no_more_is_taken_than_a_machine_can_have(name: str, many: dict[str, Any]) -> None:
    with pytest.raises(BadRequest, match=name):
        tell_inventory(make_realm(1), 1, **many)


def test_the_largest_machines_are_taken() -> None:
    realm = make_realm(1)
    disks = tuple(
        make_disk(f"sd{at}", by_id=f"/dev/disk/by-id/wwn-{at:032}", model="m" * 60, smart="s" * 7000)
        for at in range(1000)
    )
    nics = tuple(
        Interface(name=f"eth{at}", mac_address=mac(at), type="physical", vendor="v" * 60, product="p" * 60)
        for at in range(512)
    )
    tell_inventory(realm, 1, disks=disks, interfaces=nics)
    inventory = realm.hosts[host_id(1)].inventory
    assert inventory is not None
    assert (len(inventory.disks or ()), len(inventory.interfaces or ())) == (1000, 512)
    assert len(msgspec.json.encode(inventory)) < (1 << 20) * 3 // 4


def test_what_is_on_a_disk_is_kept_in_short() -> None:
    realm = make_realm(1)
    tell_inventory(realm, 1, disks=(make_disk(holders="a" * 9000, partition_types="b" * 9000),))
    inventory = realm.hosts[host_id(1)].inventory
    assert inventory is not None
    assert inventory.disks is not None
    assert (inventory.disks[0].holders, inventory.disks[0].partition_types) == ("a" * 1000, "b" * 1000)


def test_long_words_of_processors_are_not_kept_in_memory() -> None:
    words = ("a" * 6000, "b" * 6000, "c" * 6000)
    before = kept_once.cache_info().currsize
    assert normalise(make_inventory(1, cpu=Cpu(flags=words))).cpu == Cpu(flags=words)
    assert kept_once.cache_info().currsize == before
