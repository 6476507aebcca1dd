# SPDX-License-Identifier: Apache-2.0
"""A machine that takes the place of a lost host: what has to hold before anything of it is erased."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Final, TypeAlias

from muster.errors import ExternalError
from muster.frozen import dataclass
from muster.machine import Machine
from muster.model.replacement import CONFIG_FILE, REPLACEMENT_FILE, Replacement
from muster.model.wire.steps import InstallCmdRequest
from muster.node.marks import mark
from muster.node.mounted import mounted
from muster.node.noted import load_noted
from muster.node.parts import WrittenDisk

AGAIN_S: Final = 5.0


@dataclass(frozen=True)
class Obstacle:
    """Why it cannot begin, and what to do."""

    trouble: str
    fix: str


Look: TypeAlias = Callable[[], Awaitable[Obstacle | None]]


def load_replacement(root: Path) -> Replacement:
    """What the medium says."""
    return load_noted(root, REPLACEMENT_FILE, Replacement, "which host this machine becomes")


def check_cards(wanted: Replacement, macs: Iterable[str]) -> Obstacle | None:
    """A medium for one machine erases no other."""
    own = sorted({each.lower() for each in macs})
    if not wanted.macs or set(own) & set(wanted.macs):
        return None
    has = ", ".join(own) or "none"
    return Obstacle(
        f"the medium is for a machine with {', '.join(wanted.macs)}, and this one has {has}",
        "boot the right machine; or put the MAC addresses of this one into the site's files, and make the "
        "medium again",
    )


def check_rivals(wanted: Replacement, address: str, rivals: Iterable[str]) -> Obstacle | None:
    """A host that still runs is not lost."""
    found = ", ".join(rivals)
    if not found:
        return None
    return Obstacle(
        f"{found} still answers at {address}: {wanted.hostname} is not gone",
        "switch the old host off for good; it must not come back, for this machine becomes the same member",
    )


async def wait_until_clear(
    looks: Iterable[Look], show: Callable[[Obstacle | None], None], pause: Callable[[float], Awaitable[None]]
) -> None:
    """Look, in this order, until nothing is in the way; after each wait all of it is looked at again."""
    looks = tuple(looks)
    while True:
        obstacle = None
        for look in looks:
            obstacle = await look()
            if obstacle is not None:
                break
        show(obstacle)
        if obstacle is None:
            return
        await pause(AGAIN_S)


def make_request(wanted: Replacement, disk: str) -> InstallCmdRequest:
    """The installation, as a service would ask for it."""
    return InstallCmdRequest(
        cluster_id=wanted.id,
        infra_env_id="",
        host_id=wanted.hostname,
        role=wanted.role,
        boot_device=disk,
        controller_image="",
        installer_image="",
    )


@dataclass(frozen=True)
class KeptConfig:
    """In the place of a service: the configuration is on the medium, and the cluster is there."""

    root: Path

    async def host_ignition(self) -> bytes:
        path = self.root / CONFIG_FILE.lstrip("/")
        try:
            return path.read_bytes()
        except OSError as error:
            raise ExternalError(
                f"{path} has no configuration for this host: {error}", hint="make the medium again"
            ) from error

    async def control_plane_ready(self) -> bool:
        return True


def marking(machine: Machine, wanted: Replacement) -> Callable[[WrittenDisk], Awaitable[None]]:
    """What is left on the disk, so that the same medium does not erase it again."""

    async def leave(disk: WrittenDisk) -> None:
        async with mounted(machine, disk) as place:
            mark(place.var, wanted.id)

    return leave
