# SPDX-License-Identifier: Apache-2.0
"""Live images in the shape of CoreOS, made with xorriso, and the programs that know such images."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from muster.image.coreos.miniso import pack_minimal, render_recipe
from muster.image.iso.volume import Volume
from muster.image.overlay import Overlay
from tests.foreign import COREOS_INSTALLER

LABEL = "muster-live-1"
KARGS = f"mitigations=auto,nosmt coreos.liveiso={LABEL} ignition.firstboot ignition.platform.id=metal"
KARGS_SIZE = 1139
FEATURES = {
    "installer-config": True,
    "installer-config-directives": {"console": True},
    "live-initrd-network": True,
}
VARIANTS = ("x86_64", "aarch64", "partition", "headers")

_ISOLINUX = "/usr/lib/ISOLINUX"
_BIOS = [
    "-b",
    "isolinux/isolinux.bin",
    "-c",
    "isolinux/boot.cat",
    "-no-emul-boot",
    "-boot-load-size",
    "4",
    "-boot-info-table",
]
_EFI = ["-eltorito-alt-boot", "-e", "images/efiboot.img", "-no-emul-boot"]
_BOOT = {
    "x86_64": ["-J", "-isohybrid-mbr", f"{_ISOLINUX}/isohdpfx.bin", *_BIOS, *_EFI, "-isohybrid-gpt-basdat"],
    "headers": ["-J", *_BIOS, *_EFI],
    "aarch64": ["-J", *_EFI],
    "partition": [
        "--grub2-mbr",
        "/usr/lib/grub/i386-pc/boot_hybrid.img",
        "-partition_offset",
        "16",
        *_BIOS,
        *_EFI,
    ],
}


@dataclass(frozen=True)
class Live:
    """An image, and the files it was made from."""

    path: Path
    tree: Path
    variant: str


def run(*argv: str | Path) -> bytes:
    """Run a program to its end; it has to succeed."""
    done = subprocess.run([str(word) for word in argv], capture_output=True, check=False)
    assert done.returncode == 0, f"{argv}: {done.stderr.decode()}"
    return done.stdout


def coreos_installer(*argv: str | Path) -> bytes:
    """The real one, which `bin/setup --dev` builds."""
    assert COREOS_INSTALLER.exists(), f"{COREOS_INSTALLER} is missing; bin/setup --dev builds it"
    return run(COREOS_INSTALLER, *argv)


def save(path: Path, overlay: Overlay, target: Path) -> Path:
    """Write an image with its overlay, the simplest way."""
    with Volume.open(path) as volume:
        target.write_bytes(overlay.read(volume.read, 0, overlay.size))
    return target


def build_live(folder: Path, variant: str) -> Live:
    """A live image of a variant: how it boots, how it tells where its areas are, whether it has a twin."""
    tree = folder / "tree"
    _fill(tree, variant)
    path = folder / f"{variant}.iso"
    _make(tree, path, variant)
    if variant == "headers":
        _write_headers(path)
    else:
        _pack(tree, path, folder, variant)
    return Live(path, tree, variant)


def _fill(tree: Path, variant: str) -> None:
    for folder in ("images/pxeboot", "EFI/fedora", "EFI/BOOT", "isolinux", "coreos"):
        (tree / folder).mkdir(parents=True)
    noise = random.Random(variant)
    for name, size in (("vmlinuz", 300_000), ("initrd.img", 500_001), ("rootfs.img", 2_000_000)):
        (tree / "images/pxeboot" / name).write_bytes(noise.randbytes(size))
    (tree / "images/ignition.img").write_bytes(bytes(262144))
    area = f"{KARGS}\n".ljust(KARGS_SIZE, "#")
    grub = 'menuentry "Live" {\n\tlinux /images/pxeboot/vmlinuz '
    initrd = "initrd=/images/pxeboot/initrd.img,/images/ignition.img"
    isolinux = f"label linux\n  kernel /images/pxeboot/vmlinuz\n  append {initrd} "
    end = "###### COREOS_KARG_EMBED_AREA\n"
    (tree / "EFI/fedora/grub.cfg").write_text(
        f"{grub}{area}{end}\tinitrd /images/pxeboot/initrd.img /images/ignition.img\n}}\n"
    )
    files = [{"path": "EFI/fedora/grub.cfg", "offset": len(grub)}]
    if variant == "aarch64":
        (tree / "isolinux").rmdir()
    else:
        shutil.copy(f"{_ISOLINUX}/isolinux.bin", tree / "isolinux")
        (tree / "isolinux/isolinux.cfg").write_text(f"{isolinux}{area}{end}")
        files.append({"path": "isolinux/isolinux.cfg", "offset": len(isolinux)})
    _make_efi(tree)
    if variant == "headers":
        (tree / ".cmdline").write_text(area)
        (tree / "coreos").rmdir()
        return
    texts = {
        "igninfo": {"file": "images/ignition.img"},
        "kargs": {"default": KARGS, "files": files, "size": KARGS_SIZE},
        "features": FEATURES,
    }
    for name, value in texts.items():
        (tree / f"coreos/{name}.json").write_text(json.dumps(value, indent=2))
    (tree / "coreos/miniso.dat").write_bytes(bytes(16384))


def _make_efi(tree: Path) -> None:
    image = tree / "images/efiboot.img"
    image.write_bytes(bytes(6 << 20))
    run("mformat", "-i", image, "-v", "EFI", "-N", "12345678", "::")
    run("mmd", "-i", image, "::/EFI", "::/EFI/BOOT")
    run("mcopy", "-i", image, "/usr/lib/grub/x86_64-efi/monolithic/grubx64.efi", "::/EFI/BOOT/BOOTX64.EFI")


def _make(tree: Path, path: Path, variant: str) -> None:
    # Names of 8.3 characters (level 1), which is what coreos-installer looks for.
    options = ["-quiet", "-iso-level", "1", "-r", "-V", LABEL, "-o", str(path), *_BOOT[variant]]
    run("xorriso", "-as", "mkisofs", *options, tree)


def _pack(tree: Path, path: Path, folder: Path, variant: str) -> None:
    """Make the minimal twin, and store how to make it again."""
    away, small = folder / "away", folder / "minimal.iso"
    away.mkdir()
    for name in ("images/pxeboot/rootfs.img", "coreos/miniso.dat"):
        (tree / name).rename(away / Path(name).name)
    _make(tree, small, variant)
    for name in ("images/pxeboot/rootfs.img", "coreos/miniso.dat"):
        (away / Path(name).name).rename(tree / name)
    with Volume.open(path) as full, Volume.open(small) as minimal:
        data = render_recipe(pack_minimal(full, minimal), "muster")
        place = full.find("coreos/miniso.dat")
    assert place is not None
    assert len(data) <= place.length
    with path.open("r+b") as file:
        file.seek(place.offset)
        file.write(data)


def _write_headers(path: Path) -> None:
    """As images of 2021 have them."""
    with Volume.open(path) as volume:
        ignition, default = volume.find("images/ignition.img"), volume.find(".cmdline")
        texts = [volume.find(name) for name in ("EFI/fedora/grub.cfg", "isolinux/isolinux.cfg")]
        assert ignition is not None
        assert default is not None
        offsets = [t.offset + volume.read(t.offset, t.length).index(KARGS.encode()) for t in texts if t]
    numbers = [KARGS_SIZE, default.offset, *offsets, 0, 0, 0, 0]
    header = b"coreKarg" + b"".join(number.to_bytes(8, "little") for number in numbers)
    header += b"coreiso+" + ignition.offset.to_bytes(8, "little") + ignition.length.to_bytes(8, "little")
    with path.open("r+b") as file:
        file.seek(32768 - len(header))
        file.write(header)
