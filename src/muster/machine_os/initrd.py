# SPDX-License-Identifier: Apache-2.0
"""The initial RAM disk: Ignition and how the root file system comes to be, put together by dracut."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Final

from muster.errors import ExternalError
from muster.machine_os.build import Build
from muster.machine_os.root import kernel_version

_MODULES: Final = "usr/lib/dracut/modules.d"
_CONFIG: Final = """\
hostonly=no
hostonly_cmdline=no
early_microcode=no
compress="zstd -15 -T0"
dracutmodules=" bash systemd systemd-initrd udev-rules ignition muster "
"""


def make_initrd(build: Build) -> None:
    """Run dracut in the root file system, with our module and Ignition's."""
    version = kernel_version(build.root)
    module = build.root / _MODULES / "99muster"
    shutil.copytree(build.recipe.home / "initrd", module)
    _free_ignition(build.root / _MODULES / "30ignition/module-setup.sh")
    (build.root / "etc/dracut.conf.d/muster.conf").write_text(_CONFIG, "ascii")
    build.inside(
        *("dracut", "--force", "--no-hostonly", "--reproducible", "--quiet", "--kver", version),
        f"/boot/initrd-{version}",
        MUSTER_MODULES=" ".join(build.recipe.data["initrd"]["modules"]),
    )
    shutil.move(build.root / f"boot/initrd-{version}", build.initrd)
    shutil.copyfile(build.root / f"boot/vmlinuz-{version}", build.kernel)
    build.initrd.chmod(0o644)
    (build.root / "etc/dracut.conf.d/muster.conf").unlink()


def _free_ignition(setup: Path) -> None:
    """Debian's module asks for a network in the initrd, which a configuration on the medium does not need."""
    text, count = re.subn(
        r"^    echo qemu systemd url-lib network$", "    echo systemd", setup.read_text(), flags=re.M
    )
    if count != 1:
        raise ExternalError("Ignition's dracut module is not as it was known", hint=f"look at {setup}")
    setup.write_text(text)
