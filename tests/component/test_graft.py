# SPDX-License-Identifier: Apache-2.0
"""A folder that was added to an image, as the kernel, xorriso and coreos-installer see it."""

from __future__ import annotations

import random
import re
import stat
import struct
from pathlib import Path

import pytest

from muster.errors import MediaError
from muster.image.coreos.customize import Customization, customize, read_contents
from muster.image.iso.graft import graft
from muster.image.iso.records import SECTOR
from muster.image.iso.volume import Volume
from tests.component.live import LABEL, Live, coreos_installer, run, save

NOISE = random.Random(7)
FILES = {
    "oci-layout": b'{"imageLayoutVersion": "1.0.0"}',
    "index.json": b"{}",
    "empty": b"",
    **{
        f"blobs/sha256/{NOISE.randbytes(32).hex()}": NOISE.randbytes(NOISE.randrange(9000))
        for _ in range(120)
    },
}
IGNITION = b'{"ignition": {"version": "3.4.0"}}'
LARGE = NOISE.randbytes(300_000)


def grafted(base: Path, target: Path, wanted: Customization | None = None) -> Path:
    with Volume.open(base) as volume:
        overlay = graft(volume, "release", FILES)
        if wanted:
            overlay = overlay.then(customize(volume.view(overlay), wanted))
        return save(base, overlay, target)


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def extracted(image: Path, target: Path, *names: str) -> dict[str, bytes]:
    """All that xorriso finds, by the names of the tree that it is told to read."""
    run("xorriso", *names, "-osirrox", "on", "-indev", image, "-extract", "/", target)
    return content(target)


def below(found: dict[str, bytes], folder: str) -> dict[str, bytes]:
    return {name.removeprefix(folder): data for name, data in found.items() if name.startswith(folder)}


def test_all_that_was_there_is_there_and_the_folder_more(live: Live, tmp_path: Path) -> None:
    path = grafted(live.path, tmp_path / "new.iso")
    old, new = extracted(live.path, tmp_path / "old"), extracted(path, tmp_path / "new")
    assert new == old | {f"release/{name}": data for name, data in FILES.items()}
    assert stat.S_IMODE((tmp_path / "new/release/blobs").stat().st_mode) == 0o555


def test_short_names_are_there_too(live: Live, tmp_path: Path) -> None:
    found = extracted(grafted(live.path, tmp_path / "new.iso"), tmp_path / "new", "-read_fs", "norock")
    assert sorted(below({name.lower(): data for name, data in found.items()}, "release/").values()) == sorted(
        FILES.values()
    )


def test_path_tables_know_all_folders(live: Live, tmp_path: Path) -> None:
    path = grafted(live.path, tmp_path / "new.iso")
    with Volume.open(path) as volume:
        folders = {each.offset // SECTOR for each in volume.entries() if each.is_directory}
        head = volume.read(volume.primary.descriptor, SECTOR)
        size, little, big = *struct.unpack_from("<I4xI", head, 132), struct.unpack_from(">I", head, 148)[0]
        tables = [(volume.read(at * SECTOR, size), order) for at, order in ((little, "<"), (big, ">"))]
    first, second = (path_table(data, order) for data, order in tables)
    assert first == second
    assert {lba for _, lba, _ in first} == folders
    assert [parent for _, _, parent in first] == sorted(parent for _, _, parent in first)


def path_table(data: bytes, order: str) -> list[tuple[bytes, int, int]]:
    found, at = [], 0
    while at < len(data):
        length, _, lba, parent = struct.unpack_from(f"{order}BBIH", data, at)
        found.append((data[at + 8 : at + 8 + length], lba, parent))
        at += 8 + length + length % 2
    return found


def test_the_ways_to_boot_stay(live: Live, tmp_path: Path) -> None:
    path = grafted(live.path, tmp_path / "new.iso")
    for what in ("el_torito", "system_area"):
        old, new = (
            re.sub(r" +\d{3,}", " N", run("xorriso", "-indev", each, f"-report_{what}", "plain").decode())
            for each in (live.path, path)
        )
        assert new == old


def test_a_partition_has_it_too(build_partition: Live, tmp_path: Path) -> None:
    path = grafted(build_partition.path, tmp_path / "new.iso")
    inner = tmp_path / "partition.iso"
    inner.write_bytes(path.read_bytes()[64 * 512 :])
    assert below(extracted(inner, tmp_path / "new"), "release/") == FILES


def test_a_joliet_tree_has_it_too(tmp_path: Path) -> None:
    (tmp_path / "tree/some folder").mkdir(parents=True)
    (tmp_path / "tree/some folder/a file.text").write_bytes(b"x")
    base = tmp_path / "base.iso"
    run(
        "xorriso",
        "-as",
        "mkisofs",
        "-quiet",
        "-J",
        "-joliet-long",
        "-V",
        LABEL,
        "-o",
        base,
        tmp_path / "tree",
    )
    path = grafted(base, tmp_path / "new.iso")
    found = extracted(path, tmp_path / "new", "-read_fs", "norock")
    old = {"some folder/a file.text": b"x"}
    assert found == old | {f"release/{name}": data for name, data in FILES.items()}


@pytest.mark.parametrize("ignition", [IGNITION, LARGE], ids=["in place", "moved"])
def test_the_image_can_be_customized_afterwards(live: Live, tmp_path: Path, ignition: bytes) -> None:
    path = grafted(live.path, tmp_path / "new.iso", Customization(ignition=ignition))
    assert coreos_installer("iso", "ignition", "show", path) == ignition
    with Volume.open(path) as volume:
        assert read_contents(volume).ignition == ignition
        found = {entry.path: entry for entry in volume.walk()}
        for name, data in FILES.items():
            place = found[f"release/{name}"]
            assert volume.read(place.offset, place.length) == data


def test_the_same_gives_the_same_and_twice_is_refused(live: Live, tmp_path: Path) -> None:
    first, second = (grafted(live.path, tmp_path / name) for name in ("1.iso", "2.iso"))
    assert first.read_bytes() == second.read_bytes()
    with pytest.raises(MediaError, match="has release in it already"):
        grafted(first, tmp_path / "3.iso")


def test_a_path_table_that_is_broken_is_told(live: Live, tmp_path: Path) -> None:
    broken = bytearray(live.path.read_bytes())
    at = 16 * 2048 + 132
    broken[at : at + 4] = bytes(4)
    base = tmp_path / "base.iso"
    base.write_bytes(broken)
    with pytest.raises(MediaError, match=r"the path table of .* is broken"):
        grafted(base, tmp_path / "new.iso")
