# SPDX-License-Identifier: Apache-2.0
"""File systems that a test mounts, and that are gone when it ends."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

MIB = 1 << 20


def call(*argv: str | Path) -> str:
    """Run a program that has to succeed."""
    done = subprocess.run([*map(str, argv)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{argv}: {done.stderr}"
    return done.stdout


@contextlib.contextmanager
def mounted(folder: Path, *how: str | Path) -> Iterator[Path]:
    folder.mkdir(exist_ok=True)
    call("mount", *how, folder)
    try:
        yield folder
    finally:
        call("umount", folder)


@contextlib.contextmanager
def mounted_iso(folder: Path, image: Path) -> Iterator[Path]:
    """A medium, read-only: by the kernel, or in user space where the kernel cannot read media."""
    if "iso9660" in Path("/proc/filesystems").read_text() or _has_module():
        with mounted(folder, "-o", "loop,ro", "-t", "iso9660", image) as place:
            yield place
        return
    folder.mkdir(exist_ok=True)
    call("fuseiso", image, folder, "-o", "ro")
    try:
        yield folder
    finally:
        call("fusermount", "-u", folder)


def _has_module() -> bool:
    release = Path("/proc/sys/kernel/osrelease").read_text().strip()
    return any(Path(f"/lib/modules/{release}/kernel/fs/isofs").glob("isofs.ko*"))


def make_iso(folder: Path, image: Path) -> Path:
    call(
        "xorriso",
        "-report_about",
        "SORRY",
        "-as",
        "mkisofs",
        "-quiet",
        "-r",
        "-V",
        "STORE",
        "-o",
        image,
        folder,
    )
    return image
