# SPDX-License-Identifier: Apache-2.0
"""What belongs to a folder, and what only is mounted there."""

from __future__ import annotations

from pathlib import Path

from muster.support.finding import find_files


def put(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"the words of {name}\n")


def test_a_system_that_is_mounted_below_is_not_looked_into(tmp_path: Path) -> None:
    put(tmp_path, "agent.json", "more/b.json", "os/etc/private.key")
    (tmp_path / "link").symlink_to("os")

    def device_of(path: Path) -> int:
        return 2 if path == tmp_path / "os" else 1

    found = find_files(tmp_path, device_of)
    assert found == [tmp_path / name for name in ("agent.json", "link", "more/b.json")]


def test_a_file_is_one_and_nothing_is_none(tmp_path: Path) -> None:
    put(tmp_path, "one")
    assert find_files(tmp_path / "one") == [tmp_path / "one"]
    assert find_files(tmp_path / "two") is None
