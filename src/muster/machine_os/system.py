# SPDX-License-Identifier: Apache-2.0
"""What makes a Debian system the machine OS: its own files and units, Muster, and coreos-installer."""

from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path
from typing import Final

from muster import __version__
from muster.machine_os.build import Build
from muster.machine_os.parts import package_files
from muster.machine_os.recipe import plain_mode
from muster.machine_os.root import expand, prune_modules, remove

_LAUNCHER: Final = """\
#!/usr/bin/python3 -P
import gc
import sys

# Almost all that is loaded stays: to look for what does not, again and again, takes a slow host a second.
gc.set_threshold(50_000, 20, 50)
from muster.cli.__main__ import main
sys.exit(main())
"""


def add_system(build: Build) -> None:
    """All of it; the order does not matter but for the last ones."""
    prune_modules(build)
    shutil.copytree(build.recipe.home / "tree", build.root, dirs_exist_ok=True, symlinks=True)
    _own(build)
    _name(build)
    _add_installer(build)
    _add_muster(build)
    _set_up(build)


def _own(build: Build) -> None:
    """Files of a clone belong to whoever cloned it; here all belong to root."""
    tree = build.recipe.home / "tree"
    for path in tree.rglob("*"):
        ours = build.root / path.relative_to(tree)
        os.chown(ours, 0, 0, follow_symlinks=False)
        if not path.is_symlink():
            ours.chmod(plain_mode(path))
    for path in (build.root / "etc/sudoers.d").iterdir():
        path.chmod(0o440)


def _name(build: Build) -> None:
    suite = build.recipe.suite
    text = (
        f'PRETTY_NAME="Muster OS {__version__} (Debian {suite})"\nNAME="Muster OS"\n'
        "ID=muster-os\nID_LIKE=debian\n"
        f'VERSION_ID="{__version__}"\nVERSION_CODENAME={suite}\nBUILD_ID={build.key}\n'
        f"VARIANT_ID={build.recipe.hardware.name}\n"
    )
    (build.root / "usr/lib/os-release").write_text(text, "utf-8")


def _add_installer(build: Build) -> None:
    home = build.parts.coreos_installer
    for source, target, mode in (
        ("bin/coreos-installer", "usr/bin/coreos-installer", 0o755),
        ("scripts/coreos-installer-service", "usr/libexec/coreos-installer-service", 0o755),
        (
            "scripts/coreos-installer-disable-device-auto-activation",
            "usr/libexec/coreos-installer-disable-device-auto-activation",
            0o755,
        ),
        (
            "systemd/coreos-installer-generator",
            "usr/lib/systemd/system-generators/coreos-installer-generator",
            0o755,
        ),
    ):
        _install(home / source, build.root / target, mode)
    for unit in sorted([*(home / "systemd").glob("*.service"), *(home / "systemd").glob("*.target")]):
        _install(unit, build.root / "usr/lib/systemd/system" / unit.name, 0o644)


def _install(source: Path, target: Path, mode: int) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)


def _add_muster(build: Build) -> None:
    """Muster, its native part and the packages that it needs, where the system's Python looks."""
    place = build.root / "usr/lib/python3/dist-packages"
    place.mkdir(parents=True, exist_ok=True)
    for wheel in build.parts.wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(place)
    for package, name in ((build.parts.muster, "muster"), (build.parts.native, "muster_native")):
        for path in package_files(package):
            _install(path, place / name / path.relative_to(package), 0o644)
    for path in place.rglob("*"):
        os.chown(path, 0, 0, follow_symlinks=False)
        path.chmod(0o755 if path.is_dir() else 0o644)
    launcher = build.root / "usr/bin/muster"
    launcher.write_text(_LAUNCHER, "utf-8")
    launcher.chmod(0o755)
    build.inside(
        *("python3", "-m", "compileall", "-q", "-f", "--invalidation-mode", "unchecked-hash"),
        "/usr/lib/python3/dist-packages",
    )


def _set_up(build: Build) -> None:
    """Users, presets, and links."""
    root = build.root
    build.inside(
        *("useradd", "--create-home", "--shell", "/bin/bash", "--groups", "sudo,adm,systemd-journal"),
        *("--comment", "CoreOS Admin", "core"),
    )
    build.inside("passwd", "--lock", "root")
    # What runs is what our own presets name, and nothing that a package or systemd enabled.
    (root / "usr/lib/systemd/system-preset/90-systemd.preset").unlink(missing_ok=True)
    for path in expand(root, "etc/systemd/system/*"):
        remove(path)
    build.inside("systemctl", "preset-all")
    for unit in build.recipe.data["tree"]["mask"]:
        link = root / "etc/systemd/system" / unit
        link.unlink(missing_ok=True)
        link.symlink_to("/dev/null")
    chrony = root / "etc/chrony/chrony.conf"
    chrony.unlink(missing_ok=True)
    chrony.symlink_to("../chrony.conf")
    (root / "etc/hostname").unlink(missing_ok=True)  # Ignition may write one, and replaces nothing unasked.
    (root / "etc/fstab").write_text("", "ascii")
    (root / "etc/resolv.conf").unlink(missing_ok=True)
    (root / "etc/resolv.conf").symlink_to("/run/NetworkManager/resolv.conf")
    (root / "var/lib/dbus/machine-id").unlink(missing_ok=True)
