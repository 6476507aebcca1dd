# SPDX-License-Identifier: Apache-2.0
"""The mark on a disk that says which site was installed from there."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.node.marks import find_marked, is_marked, mark
from tests.unit.agent.steps.recorded import Recorded, finish


@pytest.mark.parametrize("place", ["var", "hand-over/var", "ostree/deploy/muster/var"])
def test_a_mark_is_found_before_and_after_the_first_boot(place: str, tmp_path: Path) -> None:
    mark(tmp_path / place, "c")
    assert is_marked(tmp_path, "c")
    assert not is_marked(tmp_path, "another")


def test_what_cannot_be_read_is_no_mark(tmp_path: Path) -> None:
    assert not is_marked(tmp_path, "c")
    mark(tmp_path / "var", "c")
    (tmp_path / "var/lib/muster/installed.json").write_text("{")
    assert not is_marked(tmp_path, "c")


def test_a_machine_whose_disks_cannot_be_listed_has_none() -> None:
    assert finish(find_marked(Recorded({}), "c")) == ""
