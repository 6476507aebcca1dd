# SPDX-License-Identifier: Apache-2.0
"""One build of the machine OS: where it happens, and with what."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from muster.debian.apt import Package
from muster.debian.packages import Shelf
from muster.frozen import dataclass
from muster.machine_os.recipe import Recipe
from muster.run import Argument, Circumstances, Run
from muster.toolbox import Toolbox

_ENTER: Final = 'mount --bind /dev "$0/dev"; mount -t proc proc "$0/proc"; exec chroot "$0" "$@"'


@dataclass(frozen=True)
class Parts:
    """What does not come from Debian."""

    coreos_installer: Path
    """The folder that it was installed to: bin/, systemd/, scripts/."""
    muster: Path
    """The Python package of Muster itself."""
    native: Path
    """The Python package of its native part."""
    wheels: tuple[Path, ...]
    """The packages that it depends on."""


@dataclass(frozen=True)
class Build:
    """What every step is given."""

    recipe: Recipe
    packages: tuple[Package, ...]
    parts: Parts
    key: str
    """Names this build, and nothing that would come out different."""
    epoch: int
    """The only time that is written anywhere."""
    work: Path
    toolbox: Toolbox
    shelf: Shelf
    run: Run

    def but(self, *, work: Path) -> Build:
        """The same in another folder."""
        return replace(self, work=work)

    @property
    def root(self) -> Path:
        """The folder that becomes the root file system."""
        return self.work / "root"

    @property
    def kernel(self) -> Path:
        return self.work / "vmlinuz"

    @property
    def initrd(self) -> Path:
        return self.work / "initrd.img"

    @property
    def image(self) -> Path:
        """The root file system."""
        return self.work / "os.squashfs"

    @property
    def disk(self) -> Path:
        return self.work / "metal.raw"

    @property
    def medium(self) -> Path:
        return self.work / "live.iso"

    def tool(self, program: str, *arguments: Argument, feed: str = "") -> str:
        """Run a program of the toolbox, with the one time that counts."""
        return self.call([*self.toolbox.argv(program), *arguments], feed=feed)

    def call(self, argv: Sequence[Argument], *, feed: str = "", **environment: str) -> str:
        """Run a program of the machine."""
        env = {"SOURCE_DATE_EPOCH": str(self.epoch), "LC_ALL": "C.UTF-8", "TZ": "UTC", **environment}
        return self.run(argv, feed=feed, circumstances=Circumstances(env=env))

    def inside(self, *argv: Argument, **environment: str) -> str:
        """Run a program of the root file system, in it.

        It sees /dev and /proc. They are mounted for it alone: whatever ends us, nothing of the machine stays
        mounted in a folder that is removed later.
        """
        return self.call(
            ["unshare", "--mount", "--propagation", "private", "sh", "-ec", _ENTER, self.root, *argv],
            **environment,
        )

    def set_times(self, folder: Path) -> None:
        """Everything in a folder is as old as the build says."""
        for path in [folder, *folder.rglob("*")]:
            os.utime(path, (self.epoch, self.epoch))
