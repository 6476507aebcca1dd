# SPDX-License-Identifier: Apache-2.0
"""Our images as coreos-installer, xorriso, sgdisk and fsverity see them, and theirs as we see them."""

from __future__ import annotations

import json
import lzma
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from muster.image.audit import Secret, audit
from muster.image.copy import write_image
from muster.image.coreos.areas import load_layout
from muster.image.coreos.customize import Customization, customize, read_contents, reset
from muster.image.coreos.kargs import Edit, edit_kargs
from muster.image.coreos.miniso import minimal_iso, pack_minimal, parse_recipe
from muster.image.iso.volume import Volume
from muster.image.iso.writer import render_iso
from muster.image.reading import read_medium
from muster.image.verity import hash_leaves
from tests import media
from tests.component.live import KARGS, LABEL, Live, coreos_installer, run, save

IGNITION = json.dumps({"ignition": {"version": "3.4.0"}, "passwd": {"users": [{"name": "core"}]}}).encode()
LARGE = random.Random(1).randbytes(300_000)
KEYFILE = b"[connection]\nid=eth0\ntype=ethernet\n"
SIZES = pytest.mark.parametrize("ignition", [IGNITION, LARGE], ids=["in place", "moved"])


def customized(live: Live, tmp_path: Path, wanted: Customization) -> Path:
    with Volume.open(live.path) as volume:
        return save(live.path, customize(volume, wanted), tmp_path / f"{live.variant}.iso")


def copied(live: Live, tmp_path: Path) -> Path:
    return Path(shutil.copy(live.path, tmp_path / "theirs.iso"))


def restored(path: Path) -> bytes:
    with Volume.open(path) as volume:
        overlay = reset(volume)
        return overlay.read(volume.read, 0, overlay.size)


def report(path: Path, what: str) -> str:
    return run("xorriso", "-indev", path, f"-report_{what}", "plain").decode()


# What coreos-installer finds in ours


@SIZES
def test_coreos_installer_shows_our_ignition(live: Live, tmp_path: Path, ignition: bytes) -> None:
    path = customized(live, tmp_path, Customization(ignition=ignition, kargs_append=("a=b", "c")))
    assert coreos_installer("iso", "ignition", "show", path) == ignition
    assert coreos_installer("iso", "kargs", "show", path).decode() == f"{KARGS} a=b c\n"
    assert coreos_installer("iso", "kargs", "show", "--default", path).decode() == f"{KARGS}\n"


@SIZES
def test_coreos_installer_extracts_our_network(build_x86: Live, tmp_path: Path, ignition: bytes) -> None:
    wanted = Customization(ignition=ignition, network={"eth0.nmconnection": KEYFILE, "b.nmconnection": b""})
    path = customized(build_x86, tmp_path, wanted)
    coreos_installer("iso", "network", "extract", path, "-C", tmp_path / "net")
    assert {file.name: file.read_bytes() for file in (tmp_path / "net").iterdir()} == wanted.network


@SIZES
def test_coreos_installer_removes_and_embeds_anew(live: Live, tmp_path: Path, ignition: bytes) -> None:
    path = customized(live, tmp_path, Customization(ignition=ignition, kargs_delete=("ignition.firstboot",)))
    config = tmp_path / "new.ign"
    config.write_bytes(IGNITION)
    coreos_installer("iso", "ignition", "embed", "-f", "-i", config, path)
    with Volume.open(path) as volume:
        assert read_contents(volume).ignition == IGNITION
    coreos_installer("iso", "ignition", "remove", path)
    coreos_installer("iso", "kargs", "reset", path)
    with Volume.open(path) as volume:
        assert not read_contents(volume).is_customized
    assert restored(path) == live.path.read_bytes()


def test_coreos_installer_resets_ours_to_the_original(live: Live, tmp_path: Path) -> None:
    path = customized(live, tmp_path, Customization(ignition=IGNITION, kargs_append=("a=b",)))
    assert path.read_bytes() != live.path.read_bytes()
    coreos_installer("iso", "reset", path)
    assert path.read_bytes() == live.path.read_bytes()


def test_the_same_archive_and_kernel_arguments(live: Live, tmp_path: Path) -> None:
    """The bytes of the archive before packing, and those of the kernel argument areas."""
    wanted = Customization(ignition=IGNITION, kargs_append=("a=b",), kargs_delete=("mitigations=auto,nosmt",))
    ours = customized(live, tmp_path, wanted)
    theirs = copied(live, tmp_path)
    (tmp_path / "c.ign").write_bytes(IGNITION)
    coreos_installer("iso", "ignition", "embed", "-i", tmp_path / "c.ign", theirs)
    coreos_installer("iso", "kargs", "modify", "-a", "a=b", "-d", "mitigations=auto,nosmt", theirs)
    with Volume.open(ours) as one, Volume.open(theirs) as other:
        area = load_layout(one).ignition
        unpacked = [
            lzma.LZMADecompressor().decompress(volume.read(area.offset, area.length))
            for volume in (one, other)
        ]
        assert unpacked[0] == unpacked[1]
        before, after = one.read(0, area.offset), other.read(0, area.offset)
        assert before == after
        rest = one.file_size - area.end
        assert one.read(area.end, rest) == other.read(area.end, rest)


@SIZES
def test_coreos_installer_extracts_pxe_files(live: Live, tmp_path: Path, ignition: bytes) -> None:
    path = customized(live, tmp_path, Customization(ignition=ignition))
    coreos_installer("iso", "extract", "pxe", path, "-o", tmp_path / "pxe")
    for name in ("vmlinuz", "initrd.img", "rootfs.img"):
        extracted = tmp_path / "pxe" / f"{live.variant}-{name}"
        assert extracted.read_bytes() == (live.tree / "images/pxeboot" / name).read_bytes()


def test_edits_are_those_of_coreos_installer(build_x86: Live, tmp_path: Path) -> None:
    choice = random.Random(3)
    words = [*KARGS.split(), "a=b", "c", "console=ttyS0,115200n8"]
    for _ in range(12):
        append, delete = choice.sample(words, 2), choice.sample(words, 2)
        path = copied(build_x86, tmp_path)
        options = [part for word in append for part in ("-a", word)] + [
            part for word in delete for part in ("-d", word)
        ]
        coreos_installer("iso", "kargs", "modify", *options, "-r", "mitigations=auto,nosmt=off", path)
        shown = coreos_installer("iso", "kargs", "show", path).decode().strip()
        assert shown == edit_kargs(KARGS, Edit(delete, append, (), ("mitigations=auto,nosmt=off",)))


# What we find in theirs


def test_we_read_what_coreos_installer_customized(build_x86: Live, tmp_path: Path) -> None:
    path = tmp_path / "theirs.iso"
    for name, data in (("live.ign", IGNITION), ("dest.ign", IGNITION), ("eth0.nmconnection", KEYFILE)):
        (tmp_path / name).write_bytes(data)
    coreos_installer(
        "iso",
        "customize",
        build_x86.path,
        "-o",
        path,
        "--live-ignition",
        tmp_path / "live.ign",
        "--dest-ignition",
        tmp_path / "dest.ign",
        "--dest-device",
        "/dev/vda",
        "--network-keyfile",
        tmp_path / "eth0.nmconnection",
        "--live-karg-append",
        "x=y",
    )
    with Volume.open(path) as volume:
        found = read_contents(volume)
    assert found.is_customized
    assert found.label == LABEL
    assert found.kargs == f"{KARGS} x=y"
    assert found.network == {"eth0.nmconnection": KEYFILE}
    assert found.ignition is not None
    assert "/etc/coreos/dest.ign" in found.ignition.decode()
    assert restored(path) == build_x86.path.read_bytes()


def test_we_read_what_coreos_installer_embedded(live: Live, tmp_path: Path) -> None:
    path = copied(live, tmp_path)
    (tmp_path / "c.ign").write_bytes(IGNITION)
    coreos_installer("iso", "ignition", "embed", "-i", tmp_path / "c.ign", path)
    with Volume.open(path) as volume:
        found = read_contents(volume)
    assert found.ignition == IGNITION
    assert (found.kargs, found.default_kargs) == (KARGS, KARGS)
    assert restored(path) == live.path.read_bytes()


# The minimal image


def test_the_minimal_image_is_that_of_coreos_installer(build_x86: Live, tmp_path: Path) -> None:
    url = "http://192.0.2.1:8080/rootfs.img"
    for number, path in enumerate([build_x86.path, *unpacked_fixtures(tmp_path)]):
        theirs = tmp_path / f"theirs{number}"
        coreos_installer("iso", "extract", "minimal-iso", path, theirs, "--rootfs-url", url)
        with Volume.open(path) as volume:
            assert whole_minimal(volume, url) == theirs.read_bytes()
    coreos_installer("iso", "extract", "minimal-iso", build_x86.path, tmp_path / "none")
    with Volume.open(build_x86.path) as volume:
        assert whole_minimal(volume, None) == (tmp_path / "none").read_bytes()


def whole_minimal(volume: Volume, url: str | None) -> bytes:
    minimal = minimal_iso(volume, url)
    return minimal.read(0, minimal.overlay.size)


def unpacked_fixtures(folder: Path) -> list[Path]:
    paths = []
    for name in (media.MODERN, media.S390X, media.WITH_HEADERS):
        paths.append(folder / f"{name}.iso")
        paths[-1].write_bytes(media.image(name))
    return paths


def test_recipes_hold_what_coreos_installer_packs(build_x86: Live, tmp_path: Path) -> None:
    theirs, small = copied(build_x86, tmp_path), build_x86.path.with_name("minimal.iso")
    coreos_installer("pack", "minimal-iso", theirs, small)
    with Volume.open(theirs) as volume, Volume.open(small) as minimal:
        place = volume.find("coreos/miniso.dat")
        assert place is not None
        stored = parse_recipe(volume.read(place.offset, place.length))
        ours = pack_minimal(volume, minimal)
    assert (ours.entries, ours.digest) == (stored.entries, stored.digest)
    assert lzma.decompress(ours.packed) == lzma.decompress(stored.packed)


# An image that has grown


def test_xorriso_extracts_the_moved_file(live: Live, tmp_path: Path) -> None:
    path = customized(live, tmp_path, Customization(ignition=LARGE))
    before, target = live.path.stat().st_size, tmp_path / "extracted"
    run("xorriso", "-osirrox", "on", "-indev", path, "-extract", "/", target)
    assert (target / "images/ignition.img").stat().st_size % 65536 == 0
    assert (target / "images/ignition.img").read_bytes() == path.read_bytes()[before:][
        : (target / "images/ignition.img").stat().st_size
    ]
    for name in ("images/pxeboot/rootfs.img", "images/efiboot.img", "EFI/fedora/grub.cfg"):
        assert (target / name).read_bytes() == (live.tree / name).read_bytes()


def test_the_ways_to_boot_stay(live: Live, tmp_path: Path) -> None:
    path = customized(live, tmp_path, Customization(ignition=LARGE))
    assert report(path, "el_torito") == report(live.path, "el_torito")


def test_partitions_are_as_xorriso_would_have_made_them(build_x86: Live, tmp_path: Path) -> None:
    path = customized(build_x86, tmp_path, Customization(ignition=LARGE))
    blocks = path.stat().st_size // 512
    old, new = report(build_x86.path, "system_area").splitlines(), report(path, "system_area").splitlines()
    differing = [re.sub(" +", " ", line) for before, line in zip(old, new, strict=True) if before != line]
    assert differing == [
        f"ISO image size/512 : {blocks}",
        f"MBR partition : 1 0x80 0x00 0 {blocks}",
        f"GPT lba range : 64 {blocks - 64} {blocks - 1}",
        f"GPT start and size : 1 0 {blocks - 64}",
    ]
    assert path.stat().st_size % (1 << 20) == 0


def verdict(path: Path) -> str:
    """What sgdisk finds wrong; isohybrid's overlapping partitions are wrong on purpose."""
    done = subprocess.run(["sgdisk", "-v", path], capture_output=True, text=True, check=False)
    return re.sub(r"\d+ blocks|\(\d+[^)]*\)", "", done.stdout + done.stderr)


def test_sgdisk_finds_nothing_new(build_x86: Live, tmp_path: Path) -> None:
    path = customized(build_x86, tmp_path, Customization(ignition=LARGE))
    assert verdict(path) == verdict(build_x86.path)
    assert "CRC" not in verdict(path)
    broken = path.read_bytes()
    path.write_bytes(broken[:-512] + bytes(512))
    assert verdict(path) != verdict(build_x86.path)


def test_real_isohybrid_images_grow(tmp_path: Path) -> None:
    path = tmp_path / "base.iso"
    path.write_bytes(media.image(media.MODERN))
    with Volume.open(path) as volume:
        grown = save(path, customize(volume, Customization(ignition=LARGE)), tmp_path / "grown.iso")
    assert verdict(grown) == verdict(path)
    assert report(grown, "el_torito") == report(path, "el_torito")
    assert coreos_installer("iso", "ignition", "show", grown) == LARGE
    blocks = grown.stat().st_size // 512
    assert re.search(rf"MBR partition +: +1 +0x80 +0x00 +0 +{blocks}\n", report(grown, "system_area"))


def test_a_partition_can_be_read_on_its_own(build_partition: Live, tmp_path: Path) -> None:
    """The first partition has a tree of its own, so that it can be mounted from a stick."""
    path = customized(build_partition, tmp_path, Customization(ignition=LARGE))
    line = re.search(r"MBR partition +: +1 +0x80 +0x\w\w +64 +(\d+)\n", report(path, "system_area"))
    assert line is not None
    assert (64 + int(line[1])) * 512 == path.stat().st_size
    inner = tmp_path / "partition.iso"
    inner.write_bytes(path.read_bytes()[64 * 512 :])
    assert coreos_installer("iso", "ignition", "show", inner) == LARGE


def test_the_efi_partition_is_still_there(build_x86: Live, tmp_path: Path) -> None:
    path = customized(build_x86, tmp_path, Customization(ignition=LARGE))
    line = re.search(r"MBR partition +: +2 +0x00 +0xef +(\d+)", report(path, "system_area"))
    assert line is not None
    assert b"BOOTX64  EFI" in run("mdir", "-i", f"{path}@@{int(line[1]) * 512}", "::/EFI/BOOT")


# Digests, copies, small images


@SIZES
def test_the_digest_is_that_of_fsverity(build_x86: Live, tmp_path: Path, ignition: bytes) -> None:
    target = tmp_path / "out.iso"
    with Volume.open(build_x86.path) as volume:
        leaves = hash_leaves(volume.read, volume.file_size)
        overlay = customize(volume, Customization(ignition=ignition))
        digest = leaves.digest_with(overlay, volume.read)
    write_image(build_x86.path, overlay, target)
    assert run("fsverity", "digest", "--compact", target).decode().strip() == digest.hex()
    assert run("fsverity", "digest", "--compact", build_x86.path).decode().strip() == leaves.digest.hex()


def test_xorriso_reads_our_small_images(tmp_path: Path) -> None:
    files = {
        "cluster-configuration/manifest.json": b"{}",
        "network/host-1.example.com/eth0.nmconnection": KEYFILE,
        "a name with blanks, ümläuts and.many.dots.yaml": b"x" * 5000,
        ".hidden": b"",
        **{f"many/{number:03}-with-a-long-name.txt": b"%d" % number for number in range(150)},
    }
    path, target = tmp_path / "config.iso", tmp_path / "extracted"
    path.write_bytes(render_iso(files, label="cluster-config", when=media.WHEN))
    run("xorriso", "-osirrox", "on", "-indev", path, "-extract", "/", target)
    found = {str(file.relative_to(target)): file.read_bytes() for file in target.rglob("*") if file.is_file()}
    assert found == files
    assert (target / ".hidden").stat().st_mtime == media.WHEN.timestamp()
    toc = run("xorriso", "-indev", path, "-toc", "-pvd_info").decode()
    assert "ISO loaded   : Rock_Ridge" in toc
    assert "Volume Id    : cluster-config" in toc
    assert "Creation Time: 2026010203040500" in toc


def test_grub_reads_the_moved_file(live: Live, tmp_path: Path) -> None:
    """GRUB's own file system driver, from the whole medium."""
    path = customized(live, tmp_path, Customization(ignition=LARGE))
    with Volume.open(path) as volume:
        place = volume.find("images/ignition.img")
        assert place is not None
        content = volume.read(place.offset, place.length)
    run("grub-fstest", path, "cp", "/images/ignition.img", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == content


def test_configs_inside_of_configs_are_looked_at(build_x86: Live, tmp_path: Path) -> None:
    """coreos-installer puts the configs that it is given into one of its own."""
    config, iso = tmp_path / "live.ign", tmp_path / "custom.iso"
    user = {"name": "core", "passwordHash": "$6$salt$" + "h" * 60}
    config.write_text(json.dumps({"ignition": {"version": "3.3.0"}, "passwd": {"users": [user]}}))
    coreos_installer("iso", "customize", "--live-ignition", config, "-o", iso, build_x86.path)
    assert audit(read_medium(iso).texts()) == (Secret("passwd.users[core]", "password hash"),)
