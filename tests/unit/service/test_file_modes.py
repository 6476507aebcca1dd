# SPDX-License-Identifier: Apache-2.0
"""Modes of the files and directories of the service."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from muster.errors import UserError
from muster.service.file_modes import protect_folder
from muster.service.hosting import make_keys


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mode", [0o1777, 0o1770])
def test_directory_that_users_share_is_refused_and_not_changed(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(mode)
    for use in (protect_folder, make_keys):
        with pytest.raises(UserError, match=f"{folder} is a directory that several users share") as no:
            use(folder)
        assert f"--data, such as {folder}/muster-data" in no.value.hint
    assert mode_of(folder) == mode
    assert list(folder.iterdir()) == []


def test_directory_that_is_open_by_mistake_is_closed(tmp_path: Path) -> None:
    for before, is_listed, after in ((0o777, False, 0o770), (0o777, True, 0o775), (0o1755, True, 0o1755)):
        tmp_path.chmod(before)
        protect_folder(tmp_path, is_listed=is_listed)
        assert mode_of(tmp_path) == after
