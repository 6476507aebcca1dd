# SPDX-License-Identifier: Apache-2.0
"""Disks: which may be installed on, which one is, and which lose their boot records."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from muster.frozen import dataclass
from muster.model.wire.inventory import Disk, DiskInstallationEligibility, Inventory
from muster.service.derive.addresses import addressed
from muster.service.derive.networks import default_route
from muster.service.derive.versions import is_at_least
from muster.service.state import Cluster, Host
from muster.service.validations.facts import join
from muster.service.validations.requirements import on_top_of, requirement_of

GB: Final = 10**9
MIB: Final = 1 << 20
_ALWAYS: Final = frozenset({"HDD", "SSD", "Multipath"})
_MAINFRAME: Final = frozenset({"ECKD", "ECKD (ESE)", "FBA"})
_NOT_FORMATTED: Final = frozenset({"FC", "iSCSI", "LVM", "Multipath"})

_TOO_SMALL: Final = "the disk is too small: "
_TYPE: Final = "a disk of type "
_MEMBER: Final = "the disk is a path of multipath device "
_MIXED: Final = "the paths of the multipath device are of several kinds: "
_ISCSI_NIC: Final = "the disk is reached over the interface of the default route: "
_MEDIUM: Final = "the disk is the medium that the host was started from"
_OURS: Final = (_TOO_SMALL, _TYPE, _MEMBER, _MIXED, _ISCSI_NIC, _MEDIUM)
"""How each reason of our own begins, so that the agent's are told apart when ours are found anew."""


@dataclass(frozen=True)
class Needs:
    """What a disk has to be for a host."""

    size_gb: int
    version: str
    architecture: str
    of_which: str = ""
    """What of the size is for whom, in words."""


def needs_of(host: Host, inventory: Inventory, cluster: Cluster | None) -> Needs:
    """What is asked of the disk that a host is installed on."""
    size_gb = requirement_of(msgspec.structs.replace(host, inventory=inventory), cluster).disk_gb
    more = on_top_of(host, cluster, "disk_mib")
    more_gb = math.ceil(more.amount * MIB / GB)
    architecture = inventory.cpu.architecture if inventory.cpu is not None else None
    return Needs(
        size_gb + more_gb,
        cluster.openshift_version if cluster is not None else "",
        architecture or "",
        f", {more_gb} GB of them for the add-ons {join(more.ids)}" if more_gb else "",
    )


def identify(disk: Disk) -> str:
    """The name of a disk that stays the same, as far as it has one."""
    return disk.by_id or disk.by_path or device_path(disk)


def device_path(disk: Disk) -> str:
    """Where a disk is now."""
    return disk.path or (f"/dev/{disk.name}" if disk.name else "")


def judge_disks(inventory: Inventory, needs: Needs) -> Inventory:
    """The inventory with what may be installed on: the agent's own reasons against it, then ours."""
    disks = inventory.disks or ()
    judged = tuple(_judge(disk, inventory, needs) for disk in disks)
    return inventory if judged == disks else msgspec.structs.replace(inventory, disks=judged)


def _judge(disk: Disk, inventory: Inventory, needs: Needs) -> Disk:
    told = disk.installation_eligibility
    theirs = [
        each
        for each in (told.not_eligible_reasons if told is not None else None) or ()
        if not each.startswith(_OURS)
    ]
    reasons = (*theirs, *_our_reasons(disk, inventory, needs))
    verdict = DiskInstallationEligibility(eligible=not reasons, not_eligible_reasons=reasons or None)
    if disk.id and told == verdict:
        return disk
    return msgspec.structs.replace(disk, id=disk.id or identify(disk), installation_eligibility=verdict)


def _our_reasons(disk: Disk, inventory: Inventory, needs: Needs) -> list[str]:
    reasons = []
    size = disk.size_bytes or 0
    if size < needs.size_gb * GB:
        reasons.append(
            f"{_TOO_SMALL}it has {size / GB:.4g} GB, and {needs.size_gb} GB are needed{needs.of_which}"
        )
    kind = disk.drive_type or "Unknown"
    if not _is_installable(kind, needs):
        reasons.append(f"{_TYPE}{kind} cannot be installed on")
    if disk.is_installation_media:
        reasons.append(_MEDIUM)
    if kind in ("FC", "iSCSI") and (above := _multipath_above(disk, inventory)):
        reasons.append(f"{_MEMBER}{above}: install on that")
    if kind == "Multipath" and len(kinds := _kinds_of_paths(disk, inventory)) > 1:
        reasons.append(f"{_MIXED}{', '.join(kinds)}")
    if kind == "iSCSI" and (nic := _iscsi_nic_is_default(disk, inventory)):
        reasons.append(f"{_ISCSI_NIC}{nic}")
    return reasons


def _is_installable(kind: str, needs: Needs) -> bool:
    if kind in _ALWAYS:
        return True
    if kind == "RAID":
        return is_at_least(needs.version, 4, 14)
    if kind == "iSCSI":
        return is_at_least(needs.version, 4, 15)
    if kind == "FC":
        return needs.architecture in ("", "x86_64", "s390x")
    return kind in _MAINFRAME and needs.architecture == "s390x"


def _holders(disk: Disk) -> set[str]:
    return set((disk.holders or "").split(",")) - {""}


def _multipath_above(disk: Disk, inventory: Inventory) -> str:
    holders = _holders(disk)
    for each in inventory.disks or ():
        if each.drive_type == "Multipath" and each.name in holders:
            return each.name or ""
    return ""


def _kinds_of_paths(disk: Disk, inventory: Inventory) -> list[str]:
    return sorted(
        {each.drive_type or "Unknown" for each in inventory.disks or () if disk.name in _holders(each)}
    )


def _iscsi_nic_is_default(disk: Disk, inventory: Inventory) -> str:
    address = disk.iscsi.host_ip_address if disk.iscsi is not None else None
    route = default_route(inventory)
    if not address or route is None:
        return ""
    nic = next((nic.name for nic, own, _ in addressed(inventory) if own == address), None)
    return nic or "" if nic == route.interface else ""


def eligible_disks(inventory: Inventory) -> list[Disk]:
    """The disks that may be installed on, the best first."""
    found = [
        disk
        for disk in inventory.disks or ()
        if disk.installation_eligibility is not None and disk.installation_eligibility.eligible
    ]
    return sorted(found, key=_rank)


def _rank(disk: Disk) -> tuple[bool, bool, str, int, str]:
    is_nvme = (disk.name or device_path(disk).rpartition("/")[2]).startswith("nvme")
    return (not disk.bootable, is_nvme, disk.drive_type or "", disk.size_bytes or 0, disk.hctl or "")


def choose_disk(host: Host, disks: Sequence[Disk]) -> dict[str, Any]:
    """The disk that a host is installed on: what was chosen once stays while it can.

    A person's choice is never replaced: while that disk cannot be installed on there is no path to it.
    """
    present = next((each for each in disks if identify_any(each, host.installation_disk_id)), None)
    if present is not None:
        return {"installation_disk_path": device_path(present)}
    if host.disk_reason == "given" and host.installation_disk_id:
        return {"installation_disk_path": ""}
    if not disks:
        return {"installation_disk_id": "", "installation_disk_path": "", "disk_reason": ""}
    best = disks[0]
    return {
        "installation_disk_id": best.id or identify(best),
        "installation_disk_path": device_path(best),
        "disk_reason": explain_disk(disks),
    }


def identify_any(disk: Disk, id: str) -> bool:
    """Whether a disk goes by this name."""
    return bool(id) and id in (disk.id, disk.by_id, disk.by_path, disk.path)


def find_same(disk: Disk, disks: Iterable[Disk]) -> Disk | None:
    """The same disk after a restart: by what is burnt into it, else by the name that stays the same."""

    def traits(each: Disk) -> tuple[object, ...]:
        burnt_in = each.wwn or each.serial
        return (each.size_bytes, each.wwn, each.serial, None if burnt_in else each.id)

    same = [each for each in disks if traits(each) == traits(disk)]
    named = [each for each in same if each.id == disk.id]
    return named[0] if named else same[0] if len(same) == 1 else None


def explain_disk(disks: Sequence[Disk]) -> str:
    """Why the first of these disks is the one, compared with the next."""
    best = disks[0]
    name = device_path(best)
    if len(disks) == 1:
        return f"{name} is the only disk that can be installed on"
    lead = f"{name} is the first of {len(disks)} disks that can be installed on: "
    mine, others = _rank(best), _rank(disks[1])
    if mine[0] != others[0]:
        return f"{lead}it was bootable before"
    if mine[1] != others[1]:
        return f"{lead}NVMe disks are left for data"
    if mine[2] != others[2]:
        return f"{lead}{best.drive_type} comes before {disks[1].drive_type}"
    if mine[3] != others[3]:
        return f"{lead}it is the smallest"
    return f"{lead}it is the first of its size on its controller"


def disks_to_format(disks: Iterable[Disk]) -> tuple[str, ...]:
    """Disks whose boot records would start something else than what is installed."""
    return tuple(
        disk.id or identify(disk)
        for disk in disks
        if disk.bootable
        and not disk.removable
        and not (disk.name or "").startswith("mmc")
        and disk.drive_type not in _NOT_FORMATTED
        and not disk.is_installation_media
    )


def derive_disks(host: Host, cluster: Cluster | None) -> dict[str, Any]:
    """What follows from the disks of a host."""
    if host.inventory is None:
        return {}
    inventory = judge_disks(host.inventory, needs_of(host, host.inventory, cluster))
    return {
        "inventory": inventory,
        "disks_to_be_formatted": disks_to_format(inventory.disks or ()),
        **choose_disk(host, eligible_disks(inventory)),
    }
