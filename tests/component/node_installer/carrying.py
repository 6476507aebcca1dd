# SPDX-License-Identifier: Apache-2.0
"""A host whose service tells it what it starts from: images, programs, and where they are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import msgspec

from muster.model.ignition import Config, File, render_tree, tree_of
from muster.model.registries import Mirror, RegistriesConf, Registry, render_registries_conf
from muster.node.ports import Ports
from muster.node.state import State
from muster.release.mirror.origins import open_origins
from muster.release.mirror.sides import Origin
from muster.release.node.images import FILE, NodeImage, NodeImages, NodeProgram
from muster.release.node.runtime import CONF
from muster.release.oci.client import Settings
from muster.release.oci.manifest import Manifest
from muster.release.oci.patience import Patience
from muster.run import Said
from tests.component.node_installer.hosts import PlainHost

PLACE = "muster.local"


class Host(PlainHost):
    """A host whose root partition is a folder that stays, and whose time passes only while it waits."""

    def __init__(self, folder: Path, image: Path) -> None:
        super().__init__(folder, image)
        self.disk_root = folder / "disk-root"
        self.disk_root.mkdir()
        self.now = 0.0

    @property
    def images(self) -> Path:
        return self.disk_root / "hand-over/images"

    @property
    def programs(self) -> Path:
        return self.disk_root / "hand-over/programs"

    def answer(self, words: tuple[str, ...]) -> Said | str | None:
        if words[0] == "mount" and words[1] == "/dev/sda5":
            place = Path(words[2])
            place.rmdir()
            place.symlink_to(self.disk_root)
        return super().answer(words)

    def give_memory(self) -> None:
        (self.root / "proc").mkdir()
        (self.root / "proc/meminfo").write_text("MemAvailable: 1000000 kB\n")

    def carrying(
        self,
        images: dict[str, Manifest],
        mirror: str,
        *files: File,
        programs: tuple[NodeProgram, ...] = (),
        insecure: bool = True,
    ) -> None:
        """The service gives it this list, and tells it of a mirror."""
        listed = tuple(
            NodeImage(f"{PLACE}/{name}@{made.digest}", sum(blob.size_bytes for blob in made.blobs))
            for name, made in images.items()
        )
        rules = RegistriesConf((Registry(PLACE, blocked=True, mirrors=(Mirror(mirror, insecure=insecure),)),))
        config = Config(
            (
                File(FILE, msgspec.json.encode(NodeImages(listed, programs))),
                File(CONF, render_registries_conf(rules).encode()),
                *files,
            )
        )
        self.service.ignition = render_tree(tree_of(config))

    def ports(self, others_ready: Callable[[], Awaitable[None]] | None = None) -> Ports:
        return replace(
            super().ports(others_ready), open_origins=impatient, clock=lambda: self.now, pause=self._pause
        )

    async def _pause(self, seconds: float) -> None:
        self.now += seconds

    @property
    def told(self) -> list[str]:
        return [info for _, info, _ in self.listener.stages]

    @property
    def restarted(self) -> bool:
        return ("systemctl", "reboot") in self.machine.asked

    def reached(self) -> str:
        text = (self.ports().folder / "state.json").read_bytes()
        return msgspec.json.decode(text, type=State).reached


@asynccontextmanager
async def impatient(root: Path, settings: Settings) -> AsyncIterator[tuple[Origin, ...]]:
    patience = Patience(tries=1, first_s=0)
    async with open_origins(root, replace(settings, patience=patience)) as origins:
        yield origins


def save_reached(host: Host, reached: str) -> None:
    path = host.ports().folder / "state.json"
    path.write_bytes(path.read_bytes().replace(b'"handed over"', f'"{reached}"'.encode()))
