# SPDX-License-Identifier: Apache-2.0
"""The machine OS without booting it: what coreos-installer, unmodified, and other programs make of it."""

from __future__ import annotations

import hashlib
import json
import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muster.image.coreos.customize import Customization, customize, reset
from muster.image.iso.records import SECTOR as ISO_SECTOR
from muster.image.iso.volume import Volume
from muster.image.overlay import Overlay
from muster.machine_os.recipe import find_home, load_recipe
from muster.toolbox import Toolbox
from tests.component import muster
from tests.component.live import coreos_installer, run

LIMIT = 330_000_000
"""How large the live ISO may become."""
SECTOR = 512
IGNITION = json.dumps({"ignition": {"version": "3.4.0"}}).encode()
KEYFILE = b"[connection]\nid=eth0\ntype=ethernet\n"


@pytest.fixture(scope="module")
def live(machine_os: Path) -> Path:
    return machine_os / "live.iso"


@pytest.fixture(scope="module")
def manifest(machine_os: Path) -> dict[str, Any]:
    body: dict[str, Any] = json.loads((machine_os / "manifest.json").read_bytes())
    return body


@pytest.fixture
def copy(live: Path, tmp_path: Path) -> Iterator[Path]:
    """An ISO that may be changed; it is large, and gone afterwards."""
    path = tmp_path / "copy.iso"
    shutil.copyfile(live, path)
    yield path
    path.unlink()


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def keyfile(folder: Path) -> Path:
    path = folder / "eth0.nmconnection"
    path.write_bytes(KEYFILE)
    return path


def config(folder: Path) -> Path:
    path = folder / "config.ign"
    path.write_bytes(IGNITION)
    return path


# What coreos-installer does to it


def test_ignition_goes_in_and_out(copy: Path, manifest: dict[str, Any], tmp_path: Path) -> None:
    coreos_installer("iso", "ignition", "embed", "-i", config(tmp_path), copy)
    assert coreos_installer("iso", "ignition", "show", copy) == IGNITION
    coreos_installer("iso", "ignition", "remove", copy)
    assert digest(copy) == manifest["files"]["live.iso"]["sha256"]


def test_kernel_arguments_go_in_and_out(copy: Path, manifest: dict[str, Any]) -> None:
    default = coreos_installer("iso", "kargs", "show", "--default", copy).decode().split()
    assert "coreos.liveiso=muster-os" in default
    gone = "--delete", "loglevel=4", "--replace", "ignition.platform.id=metal=qemu"
    coreos_installer("iso", "kargs", "modify", "--append", "a=b", *gone, copy)
    words = coreos_installer("iso", "kargs", "show", copy).decode().split()
    assert {"a=b", "ignition.platform.id=qemu"} <= {*words}
    assert not {"loglevel=4", "ignition.platform.id=metal"} & {*words}
    coreos_installer("iso", "kargs", "reset", copy)
    assert digest(copy) == manifest["files"]["live.iso"]["sha256"]


def test_network_goes_in_and_out(copy: Path, manifest: dict[str, Any], tmp_path: Path) -> None:
    coreos_installer("iso", "network", "embed", "--keyfile", keyfile(tmp_path), copy)
    assert KEYFILE in coreos_installer("iso", "network", "extract", copy)
    coreos_installer("iso", "network", "remove", copy)
    assert digest(copy) == manifest["files"]["live.iso"]["sha256"]


def test_all_customizations_go_in_and_out(copy: Path, manifest: dict[str, Any], tmp_path: Path) -> None:
    ign = config(tmp_path)
    coreos_installer(
        *(
            "iso",
            "customize",
            copy,
            "--dest-ignition",
            ign,
            "--live-ignition",
            ign,
            "--dest-device",
            "/dev/vda",
        ),
        *("--dest-karg-append", "a=b", "--live-karg-append", "c=d", "--dest-console", "ttyS0,115200n8"),
        *("--network-keyfile", keyfile(tmp_path), "--pre-install", ign, "--post-install", ign),
    )
    assert "c=d" in coreos_installer("iso", "kargs", "show", copy).decode().split()
    assert b"installer.d" in coreos_installer("iso", "ignition", "show", copy)
    coreos_installer("iso", "reset", copy)
    assert digest(copy) == manifest["files"]["live.iso"]["sha256"]


def test_files_for_a_boot_from_the_network_come_out(
    live: Path, manifest: dict[str, Any], tmp_path: Path
) -> None:
    coreos_installer("iso", "extract", "pxe", live, "--output-dir", tmp_path)
    found = {path.name.removeprefix("live-"): path for path in tmp_path.iterdir()}
    assert {*found} == {"vmlinuz", "initrd.img", "rootfs.img"}
    for name in ("vmlinuz", "initrd.img"):
        assert digest(found[name]) == manifest["files"][name]["sha256"]
    # The initrd refuses any other root file system, and the installer any other image.
    stamp = found["initrd.img"].read_bytes()[-4096:]
    assert f"{digest(found['rootfs.img'])} {found['rootfs.img'].stat().st_size}\n".encode() in stamp
    assert f"{manifest['files']['metal.raw']['sha256']} ".encode() in stamp
    # A kernel that is given it as a part of its RAM disk has to be able to unpack it.
    names = run("sh", "-c", f"cpio --list --quiet <'{found['rootfs.img']}'").decode().split()
    assert "muster-os.raw" in names
    shutil.rmtree(tmp_path)


def test_the_minimal_iso_comes_out(live: Path, tmp_path: Path) -> None:
    small, rootfs, url = tmp_path / "minimal.iso", tmp_path / "rootfs.img", "http://192.0.2.1/rootfs.img"
    coreos_installer(
        *("iso", "extract", "minimal-iso", live, small),
        *("--output-rootfs", rootfs, "--rootfs-url", url),
    )
    assert small.stat().st_size + rootfs.stat().st_size < live.stat().st_size + (2 << 20)
    words = coreos_installer("iso", "kargs", "show", small).decode().split()
    assert f"coreos.live.rootfs_url={url}" in words
    assert boot_images(small) == boot_images(live) == ["BIOS", "UEFI"]
    coreos_installer("iso", "ignition", "embed", "-i", config(tmp_path), small)
    assert coreos_installer("iso", "ignition", "show", small) == IGNITION
    shutil.rmtree(tmp_path)


def test_a_config_larger_than_its_area_goes_in_and_out(
    live: Path, manifest: dict[str, Any], tmp_path: Path
) -> None:
    """The area moves to the end, and the partition for UEFI behind it."""
    large, back = tmp_path / "large.iso", tmp_path / "back.iso"
    noise = random.Random(1).randbytes(400_000)
    with Volume.open(live) as volume:
        write(customize(volume, Customization(ignition=noise)), volume, large)
    assert coreos_installer("iso", "ignition", "show", large) == noise
    assert b"No problems found" in run("sgdisk", "--verify", large)
    assert boot_images(large) == ["BIOS", "UEFI"]
    found = re.search(r"^El Torito boot img : +2 .* (\d+)$", report(large, "el_torito"), re.MULTILINE)
    start = partitions(large)["Appended2"]
    assert found is not None
    assert int(found[1]) * ISO_SECTOR == start
    assert b"BOOTX64  EFI" in run("mdir", "-i", f"{large}@@{start}", "::/EFI/BOOT")
    with Volume.open(large) as volume:
        write(reset(volume), volume, back)
    assert digest(back) == manifest["files"]["live.iso"]["sha256"]
    shutil.rmtree(tmp_path)


def write(overlay: Overlay, volume: Volume, target: Path) -> None:
    step = 1 << 24
    with target.open("wb") as file:
        for at in range(0, overlay.size, step):
            file.write(overlay.read(volume.read, at, min(step, overlay.size - at)))


# What other programs say of it


def report(path: Path, what: str) -> str:
    return run("xorriso", "-indev", path, f"-report_{what}", "plain").decode()


def boot_images(path: Path) -> list[str]:
    return re.findall(r"^El Torito boot img : +\d+ +(\w+) +y", report(path, "el_torito"), re.MULTILINE)


def test_it_boots_as_cd_and_as_stick(live: Path) -> None:
    area = report(live, "system_area")
    assert "grub2-mbr" in area
    kinds = re.findall(r"^GPT type GUID +: +\d+ +(\w+)", area, re.MULTILINE)
    assert "28732ac11ff8d211ba4b00a0c93ec93b" in kinds, "a UEFI machine looks for this partition on a stick"


def partitions(disk: Path) -> dict[str, int]:
    """Where each partition starts, by its name."""
    lines = run("sgdisk", "--print", disk).decode().splitlines()
    found = (line.split() for line in lines if re.match(r" +\d", line))
    return {words[-1]: int(words[1]) * SECTOR for words in found}


def test_the_disk_image_has_a_sound_table(machine_os: Path) -> None:
    disk = machine_os / "metal.raw"
    assert b"No problems found" in run("sgdisk", "--verify", disk)
    assert list(partitions(disk)) == ["biosboot", "EFI", "boot", "os", "root"]


def test_no_machine_is_born_with_an_identity(machine_os: Path, toolbox: Toolbox) -> None:
    """What tells one machine from another is made at its first boot, and never by the build."""
    disk = machine_os / "metal.raw"
    unsquashfs, offset = toolbox.argv("unsquashfs"), ("-o", str(partitions(disk)["os"]))
    listed = run(*unsquashfs, *offset, "-l", disk).decode().split()
    names = {name.removeprefix("squashfs-root/") for name in listed}
    assert {"etc/ssh", "etc/nvme", "etc/machine-id"} <= names
    identity = re.compile("etc/(nvme/host(id|nqn)|ssh/ssh_host_.*|iscsi/initiatorname.iscsi)")
    assert [name for name in names if identity.fullmatch(name)] == []
    assert run(*unsquashfs, *offset, "-cat", disk, "etc/machine-id") == b""


def test_we_know_it_ourselves(live: Path) -> None:
    done = muster.run("media", "inspect", "--output", "json", live)
    assert done.status == 0, done.err
    body = json.loads(done.out)
    assert (body["kind"], body["label"]) == ("live system", "muster-os")
    assert body["roomForIgnition"] == 256 * 1024
    assert not body["customized"]
    assert all(body["features"].values())


def test_the_iso_is_small_and_has_one_copy_of_all(live: Path, machine_os: Path) -> None:
    assert live.stat().st_size < LIMIT
    with Volume.open(live) as volume:
        place = volume.find("images/pxeboot/rootfs.img")
    assert place is not None
    disk = (machine_os / "metal.raw").stat().st_size
    assert disk < place.length < disk + 8192


# What it says of itself


def test_the_manifest_tells_every_file(machine_os: Path, manifest: dict[str, Any]) -> None:
    files = dict(manifest["files"])
    image = files.pop("os.squashfs")
    assert {*files} == {path.name for path in machine_os.iterdir()} - {"manifest.json"}
    for name, entry in files.items():
        path = machine_os / name
        assert (path.stat().st_size, digest(path)) == (entry["size"], entry["sha256"]), name
    with (machine_os / "metal.raw").open("rb") as disk:
        disk.seek(partitions(machine_os / "metal.raw")["os"])
        assert hashlib.sha256(disk.read(image["size"])).hexdigest() == image["sha256"]


def test_the_manifest_tells_every_package(manifest: dict[str, Any]) -> None:
    wanted = load_recipe(find_home(), manifest["architecture"], manifest["hardware"]).packages
    names = {package["name"] for package in manifest["packages"]}
    assert {*wanted} <= names
    for package in manifest["packages"]:
        assert package["version"]
        assert re.fullmatch("[0-9a-f]{64}", package["sha256"])
    assert manifest["wheels"]
