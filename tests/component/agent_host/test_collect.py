# SPDX-License-Identifier: Apache-2.0
"""Whole machines at once: recorded ones, and the one that this runs on."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from muster.agent.inventory.collect import COLLECTORS, Collected, Collector, collect
from muster.agent.inventory.found import Found
from muster.agent.inventory.patience import ask_within
from muster.agent.inventory.probes import probe_disks
from muster.machine import Machine, ThisMachine
from muster.model.wire.extras import Extras, describe_content
from muster.model.wire.inventory import DiskInstallationEligibility, Inventory
from muster.run import LATE, Said
from muster.service.derive.disks import Needs, judge_disks
from muster.service.replies.inventory import normalise
from tests.unit.agent.inventory.machines.kvm import KVM
from tests.unit.agent.inventory.machines.san import SAN
from tests.unit.agent.inventory.machines.server import SERVER
from tests.unit.agent.inventory.recorded import HANGS, Recording, plant

PROGRAMS = (
    "lscpu",
    "uname",
    "dmidecode",
    "systemd-detect-virt",
    "ipmitool",
    "lspci",
    "ip",
    "od",
    "smartctl",
    "lsblk",
    "pvs",
    "nmcli",
)
SOON_S = 0.05


def collected(root: Path, recording: Recording) -> Collected:
    return asyncio.run(collect(plant(root, recording)))


def check_round_trip(found: Collected) -> None:
    assert msgspec.json.decode(msgspec.json.encode(found.inventory), type=Inventory) == found.inventory


def extras_of(found: Collected) -> Extras:
    """What is sent beyond the interface of others."""
    assert found.inventory.extras is not None
    return found.inventory.extras


def test_a_guest(tmp_path: Path) -> None:
    found = collected(tmp_path, KVM)
    inventory = found.inventory
    assert found.troubles == ()
    assert inventory.hostname == "02-00-05-00-00-00"
    assert {each.name: each.bootable for each in inventory.disks or ()} == {"vda": True, "sr0": False}
    assert {name for name in Inventory.__struct_fields__ if getattr(inventory, name) is None} == {
        "truncation"
    }
    check_round_trip(found)


def test_a_server(tmp_path: Path) -> None:
    found = collected(tmp_path, SERVER)
    assert found.troubles == ()
    assert found.inventory.hostname == "node-0.example.org"
    first, second = found.inventory.disks or ()
    assert '"passed":true' in (first.smart or "")
    assert (first.bootable, second.bootable) == (True, False)
    disks = extras_of(found).disks or ()
    assert [each.health for each in disks] == ["passed", "failing"]
    assert [(each.logical_block_bytes, each.physical_block_bytes) for each in disks] == [(512, 4096)] * 2
    assert [describe_content(each) for each in disks] == [
        'disk serial Y3K0A000000000, 480 GB, contains vfat "EFI-SYSTEM", xfs "root"',
        "disk serial Y3K0A000000001, 1.92 TB, without known content",
    ]
    assert [each.name for each in extras_of(found).links or ()] == ["bond0", "bond0.110"]
    assert [each.system_name for each in extras_of(found).neighbours or ()] == ["leaf-1", ""]
    check_round_trip(found)


def test_lvm_and_multipath(tmp_path: Path) -> None:
    found = collected(tmp_path, SAN)
    described = {each.name: describe_content(each) for each in extras_of(found).disks or ()}
    assert described["sda"] == "disk serial S6KLNN0T000001, 480 GB, contains LVM vg0"
    assert described["dm-0"] == "disk serial 624A93700A1B2C3D00000001, 550 GB, contains LVM data"
    assert described["sdb"] == "disk serial S6KLNN0T000002, 960 GB, content unknown"
    assert all(each.smart == "" for each in found.inventory.disks or ())
    assert {each.collector for each in found.troubles} == {
        "cpu",
        "memory",
        "system_vendor",
        "interfaces",
        "routes",
    }
    check_round_trip(found)


def test_what_does_not_answer_leaves_only_its_own_part_out(tmp_path: Path) -> None:
    machine = plant(tmp_path, SERVER.but(dmidecode=HANGS))
    hurried = [
        Collector(each.name, each.collect, SOON_S) if each.name == "memory" else each for each in COLLECTORS
    ]
    found = asyncio.run(collect(machine, hurried))
    assert [(each.collector, each.what) for each in found.troubles] == [
        ("memory", f"it took longer than {SOON_S} s")
    ]
    empty = {name for name in Inventory.__struct_fields__ if getattr(found.inventory, name) is None}
    assert empty == {"memory", "truncation"}


def test_work_that_cannot_be_given_up_is_not_waited_for() -> None:
    async def go() -> tuple[Collected, bool]:
        released = asyncio.Event()

        async def stubborn(_: Machine) -> Found:
            while not released.is_set():
                try:
                    await released.wait()
                except asyncio.CancelledError:
                    continue
            return Found(Inventory(hostname="late"))

        found = await collect(ThisMachine(), [Collector("stubborn", stubborn, SOON_S)])
        was_waiting = not released.is_set()
        released.set()
        return found, was_waiting

    found, was_waiting = asyncio.run(go())
    assert was_waiting
    assert found.inventory == Inventory()
    assert found.troubles[0].collector == "stubborn"


@pytest.mark.parametrize(
    ("error", "what", "is_bug"),
    [
        (KeyError("x"), "a mistake of the agent: KeyError: 'x'", True),
        (PermissionError(13, "Permission denied", "/sys/x"), "/sys/x: permission denied", False),
    ],
)
def test_a_collector_that_fails_is_named(error: Exception, what: str, is_bug: bool) -> None:
    async def fail(_: Machine) -> Found:
        raise error

    async def tell(_: Machine) -> Found:
        return Found(Inventory(hostname="node-0"), troubles=("half of it",))

    found = asyncio.run(collect(ThisMachine(), [Collector("bad", fail), Collector("good", tell)]))
    assert found.inventory == Inventory(hostname="node-0")
    assert [(each.collector, each.what, each.is_bug) for each in found.troubles] == [
        ("bad", what, is_bug),
        ("good", "half of it", False),
    ]


def test_a_dead_disk_does_not_hide_the_others(tmp_path: Path) -> None:
    machine = plant(
        tmp_path, Recording(answers={"od": " 55 aa\n", "od -A n -t x1 -j 510 -N 2 /dev/sdb": HANGS})
    )
    probes = asyncio.run(probe_disks(machine, ["vda", "sdb", "vdc"], SOON_S))
    assert [probes[name].is_bootable for name in ("vda", "sdb", "vdc")] == [True, None, True]
    assert probes["sdb"].troubles == ("/dev/sdb does not answer",)


def test_a_disk_that_cannot_be_read_is_not_asked_for_its_health(tmp_path: Path) -> None:
    machine = plant(tmp_path, Recording(answers={"od": Said(LATE, "", "od did not end within 5 s")}))
    probes = asyncio.run(probe_disks(machine, ["sda"]))
    assert probes["sda"].troubles == ("/dev/sda cannot be read: od did not end within 5 s",)
    assert len(machine.asked) == 1


def test_a_drive_without_a_medium_is_no_trouble(tmp_path: Path) -> None:
    machine = plant(tmp_path, Recording(answers={"od": Said(1, "", "od: /dev/sr0: No medium found")}))
    probes = asyncio.run(probe_disks(machine, ["sr0", "vda"]))
    assert (probes["sr0"].is_bootable, probes["sr0"].troubles) == (None, ())
    assert probes["vda"].troubles == ("/dev/vda cannot be read: od: /dev/sr0: No medium found",)


def test_first_sectors_are_really_read(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    for name, end in (("vda", b"\x55\xaa"), ("vdb", b"\0\0")):
        (tmp_path / "dev" / name).write_bytes(bytes(510) + end + bytes(512))
    probes = asyncio.run(probe_disks(ThisMachine(tmp_path), ["vda", "vdb", "vdc"]))
    assert [each.is_bootable for each in probes.values()] == [True, False, None]
    assert [len(each.troubles) for each in probes.values()] == [0, 0, 1]


def test_the_service_agrees_and_says_nothing_twice(tmp_path: Path) -> None:
    judged = judge_disks(normalise(collected(tmp_path, KVM).inventory), Needs(100, "4.20", "x86_64"))
    told = {each.name: each.installation_eligibility for each in judged.disks or ()}
    assert told["vda"] == DiskInstallationEligibility(eligible=True)
    assert told["sr0"] is not None
    reasons = told["sr0"].not_eligible_reasons or ()
    assert sorted(reasons) == [
        "a disk of type ODD cannot be installed on",
        "the disk is the medium that the host was started from",
        "the disk is too small: it has 1.2 GB, and 100 GB are needed",
    ]


def test_a_program_that_cannot_be_killed_is_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.agent.inventory.patience._GRACE_S", 0.0)
    machine = plant(tmp_path, Recording(answers={"pvs": HANGS}))
    said = asyncio.run(ask_within(machine, ["pvs"], SOON_S))
    assert said.status == LATE
    assert said.trouble == f"pvs did not end within {SOON_S} s, and cannot be ended"


GARBAGE: tuple[Any, ...] = (
    "",
    "\0\ufffd garbage \\ : \" '\n::::::\n",
    "null",
    "7",
    "[]",
    "{}",
    '[null, 7, "x", [], {"ifname": 7}, {"dst": {}}, {"ifname": "x", "linkinfo": 7}]',
    '[{"ifname": "x", "mtu": 1e400}, {"ifname": "x", "mtu": 99999999999999999999999999}]',
    '[{"ifname": "\\u0000", "addr_info": [{"local": "x", "prefixlen": 999}]}, {"dst": "x", "dev": "y"}]',
    '{"lscpu": [{"field": "CPU(s):", "data": "-1"}, {"field": "x", "data": 8}], "blockdevices": [7, {}]}',
    '{"blockdevices": [{"kname": "vda", "children": [{"kname": 7}]}], "report": {}, "smart_status": []}',
    "[" * 5000,
    "IP Address : x\n    Address: x\n    Enabled: yes\n    Status: active\n\tSize: 16\n\tSize: GB\n",
    Said(LATE, "", "it did not end"),
    Said(139, "", ""),
)


@pytest.mark.parametrize("garbage", GARBAGE)
@pytest.mark.parametrize("recording", [KVM, SERVER, SAN], ids=["kvm", "server", "san"])
def test_garbage_of_every_program(tmp_path: Path, recording: Recording, garbage: Any) -> None:
    found = collected(tmp_path, recording.but({"dev/ipmi0": ""}, **dict.fromkeys(PROGRAMS, garbage)))
    assert not [each for each in found.troubles if each.is_bug]
    assert {"memory", "system_vendor"} & {each.collector for each in found.troubles}
    assert found.inventory.disks
    check_round_trip(found)


def test_garbage_in_every_file(tmp_path: Path) -> None:
    for recording in (KVM, SERVER, SAN):
        files: dict[str, str | bytes] = dict.fromkeys(recording.files, b"\xff\0garbage=\n-1\n")
        found = collected(tmp_path / str(id(recording)), recording.but(files))
        assert not [each for each in found.troubles if each.is_bug]
        check_round_trip(found)


def test_a_machine_without_anything(tmp_path: Path) -> None:
    found = collected(tmp_path, Recording())
    assert not [each for each in found.troubles if each.is_bug]
    assert {"cpu", "memory", "hostname", "routes", "interfaces", "disks"} <= {
        each.collector for each in found.troubles
    }
    check_round_trip(found)


def test_this_machine() -> None:
    found = asyncio.run(collect(ThisMachine()))
    assert not [each for each in found.troubles if each.is_bug]
    check_round_trip(found)
    inventory = found.inventory
    assert inventory.cpu is not None
    assert inventory.cpu.count
    assert inventory.cpu.architecture
    assert inventory.memory is not None
    assert inventory.memory.usable_bytes
    assert inventory.hostname
    assert inventory.boot is not None
    assert inventory.boot.command_line
    assert inventory.interfaces is not None
    assert "lo" not in {each.name for each in inventory.interfaces}
    assert inventory.disks is not None
    assert not [each.name for each in inventory.disks if (each.name or "").startswith("loop")]
