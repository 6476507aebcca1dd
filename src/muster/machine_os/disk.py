# SPDX-License-Identifier: Apache-2.0
"""The disk image: what coreos-installer writes to a disk, and what the live medium runs from.

biosboot   GRUB for BIOS
EFI        GRUB for UEFI (FAT)
boot       kernel, initial RAM disk, the entry with the kernel's arguments, Ignition's config (ext4)
os         the root file system, never written to (squashfs)
root       everything that is written; the first boot gives it the rest of the disk, and a file system
"""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path
from typing import Final

from muster.frozen import dataclass
from muster.machine_os.build import Build
from muster.machine_os.grub import SECTOR, bios_code, later_modules, make_core, platform_folder

MIB: Final = 1 << 20
_FIRST: Final = 1 * MIB
_TYPES: Final = {
    "biosboot": "21686148-6449-6E6F-744E-656564454649",
    "EFI": "C12A7328-F81F-11D2-BA4B-00A0C93EC93B",
    "boot": "0FC63DAF-8483-4772-8E79-3D69D8477DE4",
    "os": "0FC63DAF-8483-4772-8E79-3D69D8477DE4",
    "root": "0FC63DAF-8483-4772-8E79-3D69D8477DE4",
}
_DRIVERS: Final = ("ext2", "part_gpt", "probe", "regexp", "true")
_ENTRY: Final = "muster.conf"
# A UEFI machine starts GRUB from the EFI partition; the boot partition is the next one on the same disk.
_FIND_BOOT: Final = (
    'regexp --set=1:disk \'^([^,]+)\' "$root"\nset root="$disk,gpt3"\nset prefix="($root)/grub"\n'
)
_EFI_MIB: Final = 4


@dataclass(frozen=True)
class Place:
    """Where a partition lies, in bytes."""

    name: str
    start: int
    size: int

    @property
    def end(self) -> int:
        return self.start + self.size


def make_disk(build: Build) -> None:
    """Make the partitions' content, then the table, then put each where it belongs."""
    boot, efi = build.work / "boot.part", build.work / "EFI.part"
    _make_efi(build, efi)
    _make_boot(build, boot)
    sizes = {
        "biosboot": MIB,
        "EFI": efi.stat().st_size,
        "boot": boot.stat().st_size,
        "os": build.image.stat().st_size,
        "root": MIB,
    }
    places = lay_out(sizes)
    with build.disk.open("wb") as file:
        file.truncate(places[-1].end + MIB)
    build.tool("sfdisk", "--quiet", build.disk, feed=render_table(places, build.key))
    with build.disk.open("r+b") as file:
        for place, source in zip(places[1:-1], (efi, boot, build.image), strict=True):
            file.seek(place.start)
            with source.open("rb") as content:
                shutil.copyfileobj(content, file, MIB)
        if build.recipe.architecture.grub_bios:
            _write_bios(build, file.fileno(), places[0])
    for part in (boot, efi):
        part.unlink()


def lay_out(sizes: dict[str, int]) -> tuple[Place, ...]:
    """One after the other, each on a whole mebibyte."""
    places: list[Place] = []
    start = _FIRST
    for name, size in sizes.items():
        places.append(Place(name, start, -(-size // MIB) * MIB))
        start = places[-1].end
    return tuple(places)


def render_table(places: tuple[Place, ...], key: str) -> str:
    """What sfdisk reads. The numbers come from the build; the first boot gives every disk others."""
    lines = ["label: gpt", f"label-id: {derived_uuid(key, 'disk')}"]
    lines += [
        f"start={place.start // SECTOR}, size={place.size // SECTOR}, type={_TYPES[place.name]}, "
        f"uuid={derived_uuid(key, place.name)}, name={place.name}"
        for place in places
    ]
    return "\n".join(lines) + "\n"


def derived_uuid(key: str, name: str) -> str:
    """The same for the same build."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"muster-os/{key}/{name}")).upper()


def _make_boot(build: Build, target: Path) -> None:
    folder = build.work / "boot"
    (folder / "loader/entries").mkdir(parents=True)
    (folder / "grub").mkdir()
    shutil.copyfile(build.kernel, folder / "vmlinuz")
    shutil.copyfile(build.initrd, folder / "initrd.img")
    (folder / "ignition.firstboot").write_bytes(b"")
    (folder / "loader/entries" / _ENTRY).write_text(render_entry(build), "utf-8")
    shutil.copyfile(build.recipe.home / "boot/disk.cfg", folder / "grub/grub.cfg")
    kind = build.recipe.architecture
    for platform in filter(None, (kind.grub_bios, kind.grub_efi)):
        (folder / "grub" / platform).mkdir()
        for name, data in later_modules(build, platform, _built_in(platform), ["linux"]).items():
            (folder / "grub" / platform / name).write_bytes(data)
    build.set_times(folder)
    content = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    # coreos-installer writes a second initial RAM disk before it removes the first.
    slack = build.initrd.stat().st_size + build.recipe.data["disk"]["boot_slack_mib"] * MIB
    _make_ext4(build, target, folder, -(-(content + slack) // MIB))
    shutil.rmtree(folder)


def render_entry(build: Build) -> str:
    """An entry of the Boot Loader Specification, which coreos-installer edits."""
    kind = build.recipe.architecture
    return (
        "title Muster OS\nversion 1\n"
        f"options {build.recipe.data['disk']['arguments']} {kind.console}\n"
        "linux /vmlinuz\ninitrd /initrd.img\n"
    )


def _make_ext4(build: Build, target: Path, content: Path, size_mib: int) -> None:
    identity = derived_uuid(build.key, "boot file system").lower()
    build.tool(
        "mkfs.ext4", "-q", "-F", "-b", "4096", "-L", "boot", "-U", identity, "-O", "^has_journal",
        "-E", f"hash_seed={identity},root_owner=0:0", "-d", content, target, f"{size_mib}M",
    )  # fmt: skip


def _make_efi(build: Build, target: Path) -> None:
    kind = build.recipe.architecture
    core = make_core(build, kind.grub_efi, _built_in(kind.grub_efi), prefix="/grub", early=_FIND_BOOT)
    make_fat(build, target, {f"EFI/BOOT/{kind.efi_name}": core}, _EFI_MIB)


def make_fat(build: Build, target: Path, files: dict[str, bytes], size_mib: int) -> None:
    """A FAT file system with some files."""
    with target.open("wb") as file:
        file.truncate(size_mib * MIB)
    serial = derived_uuid(build.key, target.name)[:8]
    build.tool("mformat", "-i", target, "-v", "EFI", "-N", serial, "::")
    made: set[str] = set()
    for name, data in files.items():
        for folder in reversed([str(each) for each in Path(name).parents if str(each) != "."]):
            if folder not in made:
                build.tool("mmd", "-i", target, f"::{folder}")
                made.add(folder)
        source = build.work / "fat.file"
        source.write_bytes(data)
        os.utime(source, (build.epoch, build.epoch))
        build.tool("mcopy", "-m", "-i", target, source, f"::{name}")
        source.unlink()


def _built_in(platform: str) -> tuple[str, ...]:
    return (*_DRIVERS, "biosdisk") if platform.endswith("-pc") else (*_DRIVERS, "fat")


def _write_bios(build: Build, descriptor: int, place: Place) -> None:
    platform = build.recipe.architecture.grub_bios
    core = make_core(build, platform, _built_in(platform), prefix="(,gpt3)/grub")
    boot = (platform_folder(build, platform) / "boot.img").read_bytes()
    first, rest = bios_code(boot, core, place.start // SECTOR)
    assert len(rest) <= place.size
    os.pwrite(descriptor, first, 0)
    os.pwrite(descriptor, rest, place.start)
