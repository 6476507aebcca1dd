# SPDX-License-Identifier: Apache-2.0
"""Extra disks of machine pools: each is described by the field of its own type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from muster.model.machine_pool import DiskPurpose, DiskSetup, MachinePool
from muster.model.problem import Place, Problem, problem
from muster.model.site import Site
from muster.model.tree import is_null

LONGEST_ID: Final = 12
_FIELDS: Final = {
    DiskPurpose.ETCD: ("etcd", "etcd"),
    DiskPurpose.SWAP: ("swap", "swap"),
    DiskPurpose.USER_DEFINED: ("user_defined", "userDefined"),
}


def check_disk_setup(site: Site) -> Iterator[Problem]:
    """Extra disks are described completely, once per purpose, and etcd's only in the control plane."""
    install = site.install
    if install is None:
        return
    if install.control_plane:
        yield from _check_pool(install.control_plane, control_plane=True)
    for pool in (install.arbiter, *install.compute):
        if pool:
            yield from _check_pool(pool, control_plane=False)


def _check_pool(pool: MachinePool, *, control_plane: bool) -> Iterator[Problem]:
    seen: set[DiskPurpose] = set()
    for disk in pool.disk_setup:
        if disk.type is None:
            continue
        at = disk.at("type")
        if disk.type in seen and disk.type is not DiskPurpose.USER_DEFINED:
            yield problem("disk-setup-twice", at, value=disk.type)
        elif disk.type is DiskPurpose.ETCD and not control_plane:
            yield problem("disk-setup-etcd", at)
        else:
            yield from _check_disk(disk, disk.type)
        seen.add(disk.type)


def _check_disk(disk: DiskSetup, purpose: DiskPurpose) -> Iterator[Problem]:
    name, key = _FIELDS[purpose]
    if is_null(disk.places.get(name)):
        yield problem("disk-setup-empty", Place.of(disk.at("type")), value=purpose, key=key)
    wanted = disk.user_defined.platform_disk_id if disk.user_defined else None
    if disk.user_defined and wanted and len(wanted) > LONGEST_ID:
        at = disk.user_defined.at("platform_disk_id")
        yield problem("disk-setup-long-id", at, value=wanted, length=len(wanted), most=LONGEST_ID)


RULES: Final = (check_disk_setup,)
