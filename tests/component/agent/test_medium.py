# SPDX-License-Identifier: Apache-2.0
"""Whether a host still has its medium, which it has to find out without what is on it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from muster.agent.medium import find_medium_trouble
from tests.unit.agent.inventory.recorded import Recording, plant

MOUNTS = "36 24 11:0 / /run/media/iso ro,relatime - iso9660 {source} ro\n"


def trouble(root: Path, source: str) -> str:
    """On a host whose programs are all gone."""
    machine = plant(root, Recording(answers={}))
    (root / "proc/self").mkdir(parents=True, exist_ok=True)
    (root / "proc/self/mountinfo").write_text(MOUNTS.format(source=source))
    return asyncio.run(find_medium_trouble(machine))


@pytest.mark.parametrize("source", ["tmpfs", "overlay"])
def test_a_host_that_needs_no_medium_misses_none(source: str, tmp_path: Path) -> None:
    assert trouble(tmp_path, source) == ""


def test_a_medium_that_is_gone_is_named(tmp_path: Path) -> None:
    expected = "cannot read the installation medium /dev/sr0: no such file or directory"
    assert trouble(tmp_path, "/dev/sr0") == expected


def test_a_medium_that_is_there_is_read(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/sr0").write_bytes(bytes(4096))
    assert trouble(tmp_path, "/dev/sr0") == ""
