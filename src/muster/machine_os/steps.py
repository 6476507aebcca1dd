# SPDX-License-Identifier: Apache-2.0
"""How the machine OS is made: a page of named steps. What goes into it is data, in machine-os/recipe.toml.

    root         install Debian's packages into a folder; the same for many builds, and kept
    system       our own files, units, users; Muster and coreos-installer
    initrd       what finds the root file system and runs Ignition
    image        the root file system, compressed and never written to
    disk         the disk image: boot loaders for BIOS and UEFI, kernel, image, an empty root that grows
    medium       the live ISO: it runs from the disk image that it installs
    papers       what it is made of, and what each part costs

Every step takes the build and leaves files in its folder; nothing else is passed on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from muster.frozen import dataclass
from muster.machine_os.build import Build
from muster.machine_os.disk import make_disk
from muster.machine_os.initrd import make_initrd
from muster.machine_os.medium import make_medium
from muster.machine_os.papers import write_papers
from muster.machine_os.root import install_packages, make_image
from muster.machine_os.system import add_system


@dataclass(frozen=True)
class Step:
    """One step, and how long it takes."""

    name: str
    what: str
    act: Callable[[Build], None]
    seconds: int
    """On a machine with two cores."""


ROOT: Final = Step("root", "installing packages", install_packages, 75)
STEPS: Final = (
    Step("system", "adding the system's own files", add_system, 8),
    Step("initrd", "making the initial RAM disk", make_initrd, 15),
    Step("image", "compressing the root file system", make_image, 60),
    Step("disk", "making the disk image", make_disk, 6),
    Step("medium", "making the live ISO", make_medium, 4),
    Step("papers", "writing the manifest", write_papers, 2),
)
