# SPDX-License-Identifier: Apache-2.0
"""Whether a host's disks will do: one to install on, quick enough, encrypted if asked, none wiped wrongly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from muster.model.wire.cluster import DiskEncryption
from muster.model.wire.inventory import Disk, Inventory
from muster.model.wire.reports import DiskSpeed
from muster.service.state import Cluster, Host
from muster.service.validations.addresses import each_address, find_address
from muster.service.validations.facts import (
    COUNT,
    DAY,
    MANAGED,
    ROLE,
    cluster_of,
    is_day2,
    is_single,
    join,
    machine_subnets,
    role_of,
)
from muster.service.validations.host_hardware import VMWARE
from muster.service.validations.registry import (
    SUPPRESSED,
    Answer,
    HostView,
    Reads,
    broken,
    failed,
    on_host,
    passed,
    pending,
)

_CHOSEN: Final = frozenset({"installation_disk_id", "installation_disk_path"})


@on_host("has-min-valid-disks", "hardware", Reads({"inventory.disks"}), pool=True)
def has_min_valid_disks(see: HostView) -> Answer:
    inventory = see.host.inventory
    if inventory is None:
        return pending()
    if not inventory.disks:
        return broken()
    if any(_is_eligible(disk) for disk in inventory.disks):
        return passed()
    return failed(disks=join(_refusal(disk) for disk in inventory.disks))


def _is_eligible(disk: Disk) -> bool:
    return disk.installation_eligibility is not None and bool(disk.installation_eligibility.eligible)


def _refusal(disk: Disk) -> str:
    known = disk.installation_eligibility
    reasons = "; ".join((known.not_eligible_reasons or ()) if known else ())
    return f"{_name(disk)} ({reasons or 'not judged'})"


def _name(disk: Disk) -> str:
    return disk.path or disk.name or disk.id or "a disk"


@on_host("matches-site-files", "hosts-data", Reads({"site_fault"}), must=True)
def matches_site_files(see: HostView) -> Answer:
    fault = see.host.site_fault
    if fault is None:
        return SUPPRESSED
    return failed(fault=fault) if fault else passed()


@on_host("sufficient-installation-disk-speed", "hardware", Reads(_CHOSEN | {"disk_speeds"}))
def sufficient_installation_disk_speed(see: HostView) -> Answer:
    speed = speed_of_disk(see.host)
    if speed is None or not speed.tested:
        return passed("unmeasured")
    path = see.host.installation_disk_path or see.host.installation_disk_id
    if speed.exit_code == 0:
        return passed()
    return failed(disk=path, code="unknown" if speed.exit_code is None else speed.exit_code)


def speed_of_disk(host: Host) -> DiskSpeed | None:
    """What was measured of the disk to install on."""
    speeds = host.disk_speeds
    return speeds.get(host.installation_disk_id) or speeds.get(host.installation_disk_path)


@on_host("disk-encryption-requirements-satisfied", "hardware", Reads(ROLE, {"disk_encryption"}), must=True)
def disk_encryption_requirements_satisfied(see: HostView) -> Answer:
    """Disk encryption is refused; a request from an older service or a medium fails here."""
    wanted = cluster_of(see).disk_encryption
    if wanted is None or wanted.enable_on in (None, "none"):
        return SUPPRESSED
    role = role_of(see.host)
    if wanted.enable_on != "all" and role == "auto-assign":
        return pending()
    return failed() if _is_encrypted(wanted, role) else passed()


def _is_encrypted(wanted: DiskEncryption, role: str) -> bool:
    named = (wanted.enable_on or "").split(",")
    return "all" in named or f"{'master' if role == 'bootstrap' else role}s" in named


@on_host("vsphere-disk-uuid-enabled", "hardware", Reads({"inventory.system_vendor", "inventory.disks"}))
def vsphere_disk_uuid_enabled(see: HostView) -> Answer:
    inventory = see.host.inventory
    if inventory is None:
        return SUPPRESSED
    if inventory.system_vendor is None or inventory.system_vendor.manufacturer != VMWARE:
        return SUPPRESSED
    if inventory.disks is None:
        return pending()
    without = [_name(disk) for disk in inventory.disks if _is_eligible(disk) and not disk.has_uuid]
    return failed(disks=join(without)) if without else passed()


@on_host("no-skip-installation-disk", "hardware", Reads(_CHOSEN | {"skip_formatting_disks"}), pool=True)
def no_skip_installation_disk(see: HostView) -> Answer:
    kept = see.host.skip_formatting_disks
    chosen = see.host.installation_disk_id
    if not chosen or chosen not in kept:
        return passed()
    return failed(disk=see.host.installation_disk_path or chosen)


@on_host("no-skip-missing-disk", "hardware", Reads({"inventory.disks", "skip_formatting_disks"}), pool=True)
def no_skip_missing_disk(see: HostView) -> Answer:
    kept = see.host.skip_formatting_disks
    if not kept:
        return passed()
    if see.host.inventory is None:
        return pending()
    there = {name for disk in see.host.inventory.disks or () for name in (disk.id, disk.by_id, disk.path)}
    missing = [id for id in kept if id not in there]
    return failed(disks=join(missing)) if missing else passed()


@on_host(
    "no-iscsi-nic-belongs-to-machine-cidr",
    "network",
    Reads(
        {"installation_disk_id", "inventory.disks", "inventory.interfaces"},
        DAY | COUNT | MANAGED | {"machine_networks", "imported"},
    ),
)
def no_iscsi_nic_belongs_to_machine_cidr(see: HostView) -> Answer:
    cluster, inventory = cluster_of(see), see.host.inventory
    if _has_no_machine_network(cluster) or inventory is None:
        return SUPPRESSED
    disks = tuple(_iscsi_disks(see.host, inventory))
    if not disks:
        return SUPPRESSED
    if not cluster.machine_networks:
        return pending()
    return _judge_iscsi(disks, inventory, cluster)


def _has_no_machine_network(cluster: Cluster) -> bool:
    return (
        cluster.imported or is_day2(cluster) or (cluster.user_managed_networking and not is_single(cluster))
    )


def _iscsi_disks(host: Host, inventory: Inventory) -> Iterator[Disk]:
    """The disk to install on if it is reached by iSCSI, or those of its paths that are."""
    disks = inventory.disks or ()
    for chosen in disks:
        if host.installation_disk_id and chosen.id == host.installation_disk_id:
            if chosen.drive_type == "iSCSI":
                yield chosen
            elif chosen.drive_type == "Multipath":
                yield from (
                    disk
                    for disk in disks
                    if disk.drive_type == "iSCSI" and chosen.name in (disk.holders or "").split(",")
                )


def _judge_iscsi(disks: tuple[Disk, ...], inventory: Inventory, cluster: Cluster) -> Answer:
    own = {address.number: (name, address) for name, address in each_address(inventory)}
    for disk in disks:
        told = find_address(disk.iscsi.host_ip_address or "") if disk.iscsi else None
        if told is None or told.number not in own:
            return broken(disk=_name(disk))
        interface, address = own[told.number]
        for subnet in machine_subnets(cluster):
            if subnet.holds(address):
                return failed(
                    disk=_name(disk), interface=interface, address=address.text, network=subnet.text
                )
    return passed()
