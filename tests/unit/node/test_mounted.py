# SPDX-License-Identifier: Apache-2.0
"""The root file system of a disk that was just written."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.errors import ExternalError
from muster.node.mounted import Mounted, make_root
from muster.node.parts import Part, WrittenDisk
from muster.run import Said
from tests.unit.node.machines import Recorded
from tests.unit.service.running import finish

DISK = WrittenDisk("/dev/nvme0n1", Part(5, "/dev/nvme0n1p5"), Part(3, "/dev/nvme0n1p3"))


def test_a_root_partition_without_a_file_system_gets_the_rest_of_the_disk_and_one(tmp_path: Path) -> None:
    machine = Recorded(tmp_path, lambda words: Said(2, "", "") if words[0] == "blkid" else "")
    finish(make_root(machine, DISK))
    assert [words[0] for words in machine.asked] == ["blkid", "sgdisk", "sfdisk", "partx", "mkfs.ext4"]
    assert machine.asked[2][-3:] == ("-N", "5", "/dev/nvme0n1")
    assert machine.asked[4][-1] == "/dev/nvme0n1p5"


def test_a_file_system_that_is_there_stays(tmp_path: Path) -> None:
    machine = Recorded(tmp_path, lambda _: "xfs\n")
    finish(make_root(machine, DISK))
    assert [words[0] for words in machine.asked] == ["blkid"]


def test_a_partition_that_cannot_grow_gets_no_file_system(tmp_path: Path) -> None:
    failed = Said(1, "", "sfdisk: no luck")
    machine = Recorded(tmp_path, lambda words: {"sfdisk": failed, "blkid": Said(2, "", "")}.get(words[0], ""))
    with pytest.raises(ExternalError, match="sfdisk failed for /dev/nvme0n1: sfdisk: no luck"):
        finish(make_root(machine, DISK))
    assert "mkfs.ext4" not in [words[0] for words in machine.asked]


def test_where_var_is(tmp_path: Path) -> None:
    assert Mounted(tmp_path, tmp_path).var == tmp_path / "hand-over/var"
    (tmp_path / "ostree/deploy/rhcos/var").mkdir(parents=True)
    assert Mounted(tmp_path, tmp_path).var == tmp_path / "ostree/deploy/rhcos/var"


def test_where_images_and_programs_are(tmp_path: Path) -> None:
    found = Mounted(tmp_path, tmp_path)
    assert (found.images, found.programs) == (tmp_path / "hand-over/images", tmp_path / "hand-over/programs")
    own = tmp_path / "ostree/deploy/rhcos/var/lib/muster"
    own.parents[1].mkdir(parents=True)
    assert (found.images, found.programs) == (own / "images", own / "programs")
