# SPDX-License-Identifier: Apache-2.0
"""Every program of the toolbox starts, and those with data of their own find it."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.debian.apt import Wanted
from muster.debian.packages import fetch_packages, open_shelf
from muster.errors import ExternalError
from muster.run import Circumstances, run
from muster.toolbox import Toolbox, load_recipe

UNLOADABLE = ("cannot open shared object", "error while loading", "not found")


@pytest.mark.parametrize("program", load_recipe("x86_64").programs)
def test_a_program_starts(toolbox: Toolbox, program: str, tmp_path: Path) -> None:
    circumstances = Circumstances(cwd=tmp_path, deadline_s=20)
    try:
        said = run([*toolbox.argv(program), "--version"], circumstances=circumstances)
    except ExternalError as error:  # Some know no such argument, and say so.
        said = error.message
    assert said
    assert not any(words in said for words in UNLOADABLE), said


def test_fat_and_ext4_are_made_with_the_trees_own_data(toolbox: Toolbox, tmp_path: Path) -> None:
    image = tmp_path / "image"
    (tmp_path / "note").write_text("hello\n")
    image.write_bytes(bytes(4 << 20))
    run([*toolbox.argv("mformat"), "-i", image, "-v", "EFI", "::"])
    run([*toolbox.argv("mcopy"), "-i", image, tmp_path / "note", "::/NOTE"])
    assert run([*toolbox.argv("mtype"), "-i", image, "::/NOTE"]) == "hello"
    run([*toolbox.argv("mkfs.ext4"), "-q", "-F", "-L", "root", image])
    assert "root" in run([*toolbox.argv("dumpe2fs"), "-h", image])


@pytest.mark.parametrize("target", ["i386-pc", "x86_64-efi"])
def test_grub_images_are_made(toolbox: Toolbox, target: str, tmp_path: Path) -> None:
    made = tmp_path / "core"
    modules = toolbox.path(f"usr/lib/grub/{target}")
    run([*toolbox.argv("grub-mkimage"), "-d", modules, "-O", target, "-p", "/", "-o", made, "normal", "fat"])
    assert made.stat().st_size > 50_000


def test_qemu_starts_the_machines_of_the_lab(toolbox: Toolbox) -> None:
    """All devices are there with their option ROMs; with -S nothing runs, and the monitor ends it."""
    firmware = toolbox.path("usr/share/OVMF/OVMF_CODE_4M.fd")
    words = [
        *("-S", "-machine", "q35", "-accel", "tcg", "-nodefaults", "-display", "none", "-m", "64"),
        *("-drive", f"if=pflash,format=raw,readonly=on,file={firmware}"),
        *("-device", "VGA", "-device", "virtio-net-pci", "-device", "e1000e", "-device", "virtio-rng-pci"),
        *(
            "-device",
            "qemu-xhci",
            "-device",
            "usb-kbd",
            "-device",
            "virtio-scsi-pci",
            "-device",
            "virtio-serial",
        ),
        *("-drive", "if=none,id=stick,driver=null-co,size=1M", "-device", "usb-storage,drive=stick"),
        *("-monitor", "stdio"),
    ]
    said = run(
        [*toolbox.argv("qemu-system-x86_64"), *words],
        feed="info status\nquit\n",
        circumstances=Circumstances(deadline_s=30),
    )
    assert "paused" in said


def test_packages_are_resolved_for_another_architecture(cache_root: Path) -> None:
    shelf = open_shelf(cache_root)
    packages = fetch_packages(Wanted(("hostname",), architecture="arm64"), shelf)
    assert {package.architecture for package in packages} <= {"arm64", "all"}
    assert {"hostname", "libc6"} <= {package.name for package in packages}
    assert all(shelf.path(package).stat().st_size == package.size for package in packages)
