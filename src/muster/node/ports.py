# SPDX-License-Identifier: Apache-2.0
"""What an installation needs of the world around it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol

from muster.frozen import dataclass
from muster.machine import Machine
from muster.model.wire.enums import HostStage
from muster.node.parts import WrittenDisk
from muster.node.telling import Clock
from muster.node.write import Writer
from muster.release.mirror.origins import OpenOrigins, open_origins


class Reporter(Protocol):
    """Who is told how far it is. Telling never fails: what cannot be told now is told later, or never."""

    async def stage(self, stage: HostStage, info: str = "", percent: int | None = None) -> None:
        """The host is in a stage; ``percent`` of that is done, as far as that is known."""

    async def warn(self, sentence: str) -> None:
        """Something went wrong that does not end the installation."""


class Service(Protocol):
    """What the service answers. A failure that a second try would not mend is a `MusterError`."""

    async def host_ignition(self) -> bytes:
        """The Ignition config of this host."""

    async def control_plane_ready(self) -> bool:
        """Whether a host that is not a part of the control plane may go on to restart."""


@dataclass(frozen=True)
class Ports:
    """All of it."""

    machine: Machine
    reporter: Reporter
    service: Service
    writer: Writer
    others_ready: Callable[[], Awaitable[None]] | None = None
    """On the rendezvous host: waits until all other hosts of the control plane answer."""
    hand_over: Callable[[WrittenDisk], Awaitable[None]] | None = None
    """Puts more on the disk, by `muster.node.mounted`. It may be called again after it was interrupted."""
    open_origins: OpenOrigins = open_origins
    """Where the images come from that the host starts from."""
    clock: Clock = time.monotonic
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    also_disks: tuple[str, ...] = ()
    """Kinds of devices that are taken for disks besides real ones, as lsblk calls them."""

    @property
    def folder(self) -> Path:
        """Where the state of the installation is kept."""
        return self.writer.folder
