# SPDX-License-Identifier: Apache-2.0
"""What is kept of an installation, and when it counts."""

from __future__ import annotations

from pathlib import Path

from muster.node.plan import Identity
from muster.node.state import State, load_state, make_key, save_state
from tests.unit.node.test_plan import request

DISK = Identity("/dev/sda", "X", "", 480)


def test_it_is_found_again_and_only_by_its_owner(tmp_path: Path) -> None:
    folder = tmp_path / "install"
    assert not load_state(folder, "a").has("written")
    save_state(folder, State("a", "verified"))
    assert load_state(folder, "a").has("written")
    assert load_state(folder, "a").has("verified")
    assert not load_state(folder, "a").has("handed over")
    assert not load_state(folder, "b").has("written")
    assert (folder / "state.json").stat().st_mode & 0o777 == 0o600


def test_what_cannot_be_read_counts_as_nothing(tmp_path: Path) -> None:
    for text in (b"", b"{", b'{"key": "a", "reached": "everything"}', b'["a"]'):
        (tmp_path / "state.json").write_bytes(text)
        assert load_state(tmp_path, "a") == State("a")


def test_another_request_disk_or_configuration_is_another_installation() -> None:
    key = make_key(request(), DISK, b"{}")
    assert key == make_key(request(), DISK, b"{}")
    others = {
        make_key(request("/dev/sdb"), DISK, b"{}"),
        make_key(request(), Identity("/dev/sda", "Y", "", 480), b"{}"),
        make_key(request(), DISK, b"{ }"),
    }
    assert len(others | {key}) == 4
