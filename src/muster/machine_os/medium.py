# SPDX-License-Identifier: Apache-2.0
"""The live ISO: it boots as CD and as stick, with BIOS and UEFI, and coreos-installer knows its way about it.

The root file system is not on it a second time: ``images/pxeboot/rootfs.img`` is the disk image, wrapped so
that it can also be given to the kernel as a part of the initial RAM disk.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from muster.image.coreos.kargs import encode_kargs
from muster.image.coreos.miniso import pack_minimal, render_recipe
from muster.image.cpio import Member, render_archive
from muster.image.iso.volume import Volume
from muster.machine_os.build import Build
from muster.machine_os.disk import derived_uuid, make_fat
from muster.machine_os.grub import SECTOR, make_core, platform_folder
from muster.machine_os.papers import hash_file
from muster.run import Argument

HEAD: Final = 2048
"""How many bytes of the wrapping come before the disk image; the initrd knows it, too."""
_WRAPPED: Final = "muster-os.raw"
_STAMP: Final = "etc/muster-rootfs"
ROOTFS_HASH: Final = "etc/muster-rootfs.sha256"
"""In the initial RAM disk: the SHA-256 of the root file system that a live system fetches, and its size."""
IMAGE_HASH: Final = "etc/muster-image.sha256"
"""In the initial RAM disk: the SHA-256 of the disk image that a live system installs, and its size."""
_ALIGNMENT: Final = 4
"""Archives of an initial RAM disk begin at such offsets."""
_FILE: Final = 0o100644
_MINISO_SIZE: Final = 256 * 1024
_DRIVERS: Final = ("iso9660", "linux", "part_gpt", "part_msdos", "regexp")
_BIOS: Final = (*_DRIVERS, "biosdisk")
_EFI: Final = (*_DRIVERS, "fat")
_EFI_MIB: Final = 2


def make_medium(build: Build) -> None:
    """The whole medium and its minimal twin from the same files, and the recipe for the twin in the first."""
    folder, rootfs = build.work / "medium", build.work / "rootfs.img"
    _wrap_disk(build, rootfs)
    _stamp_initrd(build, rootfs)
    _lay_out(build, folder)
    minimal = build.work / "minimal.iso"
    _write_iso(build, folder, minimal)
    rootfs.rename(folder / "images/pxeboot/rootfs.img")
    (folder / "coreos/miniso.dat").write_bytes(bytes(_MINISO_SIZE))
    build.set_times(folder)
    _write_iso(build, folder, build.medium)
    with Volume.open(build.medium) as full, Volume.open(minimal) as small:
        recipe = render_recipe(pack_minimal(full, small), "muster")
        place = full.find("coreos/miniso.dat")
    assert place is not None
    assert len(recipe) <= place.length, len(recipe)
    with build.medium.open("r+b") as file:
        file.seek(place.offset)
        file.write(recipe)
    minimal.unlink()
    shutil.rmtree(folder)


def _lay_out(build: Build, folder: Path) -> None:
    for name in ("images/pxeboot", "boot/grub", "coreos"):
        (folder / name).mkdir(parents=True)
    shutil.copyfile(build.kernel, folder / "images/pxeboot/vmlinuz")
    shutil.copyfile(build.initrd, folder / "images/pxeboot/initrd.img")
    live = build.recipe.data["live"]
    (folder / "images/ignition.img").write_bytes(bytes(live["embed_area_bytes"]))
    (folder / "coreos/igninfo.json").write_text('{"file": "images/ignition.img"}\n', "ascii")
    shutil.copyfile(build.recipe.home / "initrd/features.json", folder / "coreos/features.json")
    kind = build.recipe.architecture
    arguments = f"{live['arguments']} coreos.liveiso={live['label']} {kind.console}"
    config, info = render_menu(
        (build.recipe.home / "boot/live.cfg").read_text("ascii"), arguments, live["kargs_area_bytes"]
    )
    (folder / "boot/grub/grub.cfg").write_bytes(config)
    # Spread out, as coreos-installer writes it: the minimal ISO gets another default in the same room.
    (folder / "coreos/kargs.json").write_text(json.dumps(info, indent=2) + "\n", "ascii")
    early = (
        f"search --no-floppy --set=root --label {live['label']}\n"
        "set prefix=($root)/boot/grub\nconfigfile ($root)/boot/grub/grub.cfg\n"
    )
    efi = make_core(build, kind.grub_efi, _EFI, prefix="/boot/grub", early=early)
    make_fat(build, build.work / "efiboot.img", {f"EFI/BOOT/{kind.efi_name}": efi}, _EFI_MIB)
    if kind.grub_bios:
        core = make_core(build, f"{kind.grub_bios}-eltorito", _BIOS, prefix="/boot/grub")
        (folder / "images/eltorito.img").write_bytes(core)
    build.set_times(folder)


def render_menu(template: str, arguments: str, size: int) -> tuple[bytes, Mapping[str, object]]:
    """GRUB's menu with room for kernel arguments, and where that room is."""
    before, _, after = template.partition("@KARGS@")
    area = encode_kargs(arguments, size)
    info = {
        "default": arguments,
        "files": [{"path": "boot/grub/grub.cfg", "offset": len(before.encode())}],
        "size": size,
    }
    return before.encode() + area + after.encode(), info


def _wrap_disk(build: Build, target: Path) -> None:
    """The disk image as the one file of an archive, at a place where a loop device can start."""
    with target.open("wb") as file, build.disk.open("rb") as disk:
        file.write(wrap_head(build.key, build.disk.stat().st_size))
        shutil.copyfileobj(disk, file, 1 << 20)
        file.write(render_archive([]))
        file.write(bytes(-file.tell() % SECTOR))


def _stamp_initrd(build: Build, rootfs: Path) -> None:
    """The initial RAM disk of live systems knows the hashes of what it fetches, and of what it installs.

    That on the disk is another one: the disk image cannot hold its own hash.
    """
    size = build.initrd.stat().st_size
    stamp = render_stamp(_measure(rootfs), _measure(build.disk))
    with build.initrd.open("ab") as file:
        file.write(bytes(-size % _ALIGNMENT) + stamp)


def _measure(path: Path) -> str:
    return f"{hash_file(path)} {path.stat().st_size}"


def render_stamp(rootfs: str, disk: str) -> bytes:
    """The archive with the hashes, each with a size, to be appended to an initial RAM disk."""
    hashes = {ROOTFS_HASH: rootfs, IMAGE_HASH: disk}
    return render_archive(Member(path, f"{text}\n".encode(), _FILE) for path, text in hashes.items())


def wrap_head(key: str, size: int) -> bytes:
    """What comes before the disk image: the name of the build, filled up, and the image's own header."""
    end = len(render_archive([]))
    header = _header(_WRAPPED, size)
    room = HEAD - len(header) - len(render_archive([Member(_STAMP, b"", _FILE)])[:-end])
    stamp = Member(_STAMP, f"{key}\n".encode().ljust(room, b"\n"), _FILE)
    return render_archive([stamp])[:-end] + header


def _header(name: str, size: int) -> bytes:
    words = (721, _FILE, 0, 0, 1, 0, size, 0, 0, 0, 0, len(name) + 1, 0)
    data = b"070701" + b"".join(b"%08X" % word for word in words) + name.encode() + b"\0"
    return data + bytes(-len(data) % 4)


def _write_iso(build: Build, folder: Path, target: Path) -> None:
    kind = build.recipe.architecture
    label = build.recipe.data["live"]["label"]
    bios: tuple[Argument, ...] = ()
    if kind.grub_bios:
        bios = (
            "--grub2-mbr", platform_folder(build, kind.grub_bios) / "boot_hybrid.img",
            "-b", "images/eltorito.img", "-no-emul-boot", "-boot-load-size", "4", "-boot-info-table",
            "--grub2-boot-info", "-eltorito-alt-boot",
        )  # fmt: skip
    build.tool(
        "xorriso", "-as", "mkisofs", "-quiet", "-iso-level", "1", "-R", "-V", label, "-o", target,
        "-c", "boot/boot.cat", "-partition_offset", "16", *bios,
        "-append_partition", "2", "0xef", build.work / "efiboot.img", "-appended_part_as_gpt",
        "-e", "--interval:appended_partition_2:all::", "-no-emul-boot", "-isohybrid-gpt-basdat",
        "--gpt_disk_guid", derived_uuid(build.key, "medium").replace("-", "").lower(),
        "-uid", "0", "-gid", "0", folder,
    )  # fmt: skip
