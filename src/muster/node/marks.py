# SPDX-License-Identifier: Apache-2.0
"""A mark on the disk of the rendezvous host: which site was installed from there.

The service begins anew whenever its host boots the medium. Without a mark, a firmware that prefers the medium
would have it install, and erase, the same site again and again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from muster.errors import MusterError
from muster.files import save_file
from muster.machine import Machine
from muster.node.disk import read_disks
from muster.node.mounted import mount
from muster.node.parts import find_parts

START_OVER: Final = "start-over"
"""Who makes this file in the folder of the boards has the site installed anew."""
_MARK: Final = "lib/muster/installed.json"
_PLACES: Final = ("var", "hand-over/var", "ostree/deploy/*/var")


class Mark(msgspec.Struct, frozen=True):
    """What is installed on a disk."""

    cluster_id: str


def mark(var: Path, cluster_id: str) -> None:
    """Leave a mark in what becomes /var of a written system."""
    path = var / _MARK
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    save_file(path, msgspec.json.encode(Mark(cluster_id)))


def is_marked(root: Path, cluster_id: str) -> bool:
    """Whether a root file system is that of a host that a cluster was installed from."""
    for place in _PLACES:
        for path in root.glob(f"{place}/{_MARK}"):
            try:
                if msgspec.json.decode(path.read_bytes(), type=Mark).cluster_id == cluster_id:
                    return True
            except (OSError, msgspec.DecodeError):
                continue
    return False


async def find_marked(machine: Machine, cluster_id: str) -> str:
    """The disk that a cluster was installed from before; empty when there is none that can be read."""
    try:
        disks = await read_disks(machine)
    except MusterError:
        return ""
    for disk in disks:
        if disk.is_medium or disk.mounted or disk.member_of:
            continue
        try:
            parts = await find_parts(machine, disk.path)
            async with mount(machine, parts.root.device, "--options", "ro,norecovery") as place:
                if is_marked(place, cluster_id):
                    return disk.path
        except (MusterError, OSError):
            continue
    return ""
