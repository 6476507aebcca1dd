# SPDX-License-Identifier: Apache-2.0
"""Disks: what they are, how they are found again, whether they may be installed on, and what is on them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from muster.agent.inventory.block import BlockDevice, read_block_devices
from muster.agent.inventory.boot import argument
from muster.agent.inventory.contents import Contents, read_contents
from muster.agent.inventory.drives import Surroundings, is_disk, is_medium, object_to, tell_type
from muster.agent.inventory.found import CannotTell, Found
from muster.agent.inventory.mounts import read_mounts
from muster.agent.inventory.probes import Probe, probe_disks
from muster.agent.inventory.reading import first, list_names, read_links, read_text
from muster.frozen import dataclass
from muster.machine import Machine
from muster.model.wire.extras import DiskExtras, Extras, words_of
from muster.model.wire.inventory import Disk, DiskInstallationEligibility, Inventory, Iscsi

_LASTING: Final = ("wwn-", "nvme-eui")
"""How links begin that name a disk by what is burnt in, wherever it is plugged in."""


@dataclass(frozen=True)
class Names:
    """By what disks are found again."""

    by_id: Mapping[str, str]
    """The lasting link to each, by the kernel's name of the disk."""
    shared_paths: frozenset[str]
    """Ways that lead to several disks, and so name none."""
    iscsi_addresses: Mapping[str, str]
    """The address of our own that each iSCSI adapter uses."""


async def collect_disks(machine: Machine) -> Found:
    """The disks of a host."""
    devices = read_block_devices(machine.root)
    disks = [each for each in devices if is_disk(each)]
    if not devices and not (machine.root / "sys/block").is_dir():
        raise CannotTell("the kernel does not tell of disks: /sys/block is not there")
    around = read_surroundings(machine.root, devices)
    names = read_names(machine.root, disks)
    probes, contents = await asyncio.gather(
        probe_disks(machine, [each.name for each in disks if each.size_bytes]), read_contents(machine)
    )
    told = {each.name: probes.get(each.name, Probe()) for each in disks}
    troubles = [trouble for each in told.values() for trouble in each.troubles]
    return Found(
        Inventory(disks=tuple(make_disk(each, told[each.name], names, around) for each in disks)),
        Extras(disks=tuple(make_extras(each, told[each.name], contents, around) for each in disks)),
        troubles=tuple(dict.fromkeys([*troubles, *contents.troubles])),
    )


def read_surroundings(root: Path, devices: tuple[BlockDevice, ...]) -> Surroundings:
    """What disks are judged by."""
    ibft = root / "sys/firmware/ibft"
    targets = (read_text(ibft / each / "target-name") for each in list_names(ibft))
    return Surroundings(
        devices={each.name: each for each in devices},
        mounts=read_mounts(root),
        medium_label=argument(read_text(root / "proc/cmdline"), "coreos.liveiso"),
        boot_targets=frozenset(each for each in targets if each),
    )


def read_names(root: Path, disks: list[BlockDevice]) -> Names:
    """By what disks are found again."""
    links = read_links(root / "dev/disk/by-id")
    paths = Counter(each.udev.get("ID_PATH", "") for each in disks)
    adapters = root / "sys/class/iscsi_host"
    return Names(
        by_id={
            target: f"/dev/disk/by-id/{name}"
            for name, target in sorted(links.items(), reverse=True)
            if name.startswith(_LASTING)
        },
        shared_paths=frozenset(path for path, count in paths.items() if count > 1),
        iscsi_addresses={each: read_text(adapters / each / "ipaddress") for each in list_names(adapters)},
    )


def make_disk(device: BlockDevice, probe: Probe, names: Names, around: Surroundings) -> Disk:
    """A disk as the service knows it."""
    kind = tell_type(device)
    reasons = tuple(object_to(device, kind, around))
    path = device.udev.get("ID_PATH", "")
    by_id = names.by_id.get(device.name)
    by_path = f"/dev/disk/by-path/{path}" if path and path not in names.shared_paths else None
    whole = (device, *(around.devices[each] for each in device.members if each in around.devices))
    address = names.iscsi_addresses.get(f"host{device.hctl.partition(':')[0]}")
    return Disk(
        id=by_id or by_path or device.path,
        name=device.name,
        path=device.path,
        by_id=by_id,
        by_path=by_path,
        hctl=device.hctl or None,
        model=first(each.model for each in whole) or None,
        vendor=first(each.vendor for each in whole) or None,
        serial=first(each.serial for each in whole) or None,
        wwn=first(_wwn(each) for each in whole) or None,
        size_bytes=device.size_bytes,
        drive_type=kind,
        bootable=probe.is_bootable,
        removable=device.is_removable,
        smart=probe.smart,
        has_uuid=any(each.has_uuid for each in whole),
        is_installation_media=is_medium(device, around),
        holders=",".join(device.node.holders) or None,
        iscsi=Iscsi(host_ip_address=address) if kind == "iSCSI" and address else None,
        installation_eligibility=DiskInstallationEligibility(
            eligible=not reasons, not_eligible_reasons=reasons or None
        ),
    )


def make_extras(device: BlockDevice, probe: Probe, contents: Contents, around: Surroundings) -> DiskExtras:
    """What is known of a disk besides."""
    whole = (device, *(around.devices[each] for each in device.members if each in around.devices))
    content = contents.disks.get(device.name)
    return DiskExtras(
        name=device.name,
        path=device.path,
        serial=first(each.serial for each in whole),
        size_bytes=device.size_bytes,
        logical_block_bytes=device.logical_block_bytes,
        physical_block_bytes=device.physical_block_bytes,
        health=probe.health,
        content=content,
        holds=words_of(content),
    )


def _wwn(device: BlockDevice) -> str:
    return first(device.udev.get(name) for name in ("ID_WWN_WITH_EXTENSION", "ID_WWN", "DM_WWN"))
