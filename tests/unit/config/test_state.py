# SPDX-License-Identifier: Apache-2.0
"""What Muster remembers about a site's directory."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from muster.config.state import STATE_FILE, Record, State, load_state, save_state
from muster.errors import UserError

INPUTS = {"install-config.yaml": "aa", "the base image": "bb"}


@pytest.fixture
def made(tmp_path: Path) -> Path:
    (tmp_path / "agent.iso").write_bytes(b"iso")
    record = Record.of(tmp_path, INPUTS, ["agent.iso"])
    save_state(tmp_path, State({"a.yaml": "1"}, {"version": 1}, {"agent.iso": record}))
    return tmp_path


def test_it_is_read_back_and_private(made: Path) -> None:
    state = load_state(made)
    assert state.outputs == {"a.yaml": "1"}
    assert state.secrets == {"version": 1}
    assert (made / STATE_FILE).stat().st_mode & 0o777 == 0o600
    assert list(state.media["agent.iso"].changes(made, INPUTS)) == []
    assert "version" not in repr(state)


def test_what_one_verb_writes_the_next_one_keeps(made: Path) -> None:
    state = load_state(made).with_outputs({"b.yaml": b"x"})
    assert state.secrets == {"version": 1}
    assert replace(state, secrets=None).with_medium("b.iso", Record({}, {})).media.keys() == {
        "agent.iso",
        "b.iso",
    }


def test_every_change_is_named(made: Path) -> None:
    record = load_state(made).media["agent.iso"]
    inputs = {"install-config.yaml": "cc", "agent-config.yaml": "dd"}
    assert list(record.changes(made, inputs)) == [
        "agent-config.yaml is new",
        "install-config.yaml changed",
        "the base image is gone",
    ]
    (made / "agent.iso").write_bytes(b"other")
    assert list(record.changes(made, INPUTS)) == ["agent.iso was changed since it was made"]
    (made / "agent.iso").unlink()
    assert list(record.changes(made, INPUTS)) == ["agent.iso is missing"]


@pytest.mark.parametrize(
    "body",
    [
        "[]",
        "{}",
        "nonsense",
        json.dumps({"version": 2, "outputs": {}}),
        json.dumps({"version": 1, "outputs": []}),
        json.dumps({"version": 1, "outputs": {}, "secrets": 1}),
        json.dumps({"version": 1, "outputs": {}, "media": {"a": {}}}),
        json.dumps({"version": 1, "outputs": {}, "media": []}),
        json.dumps({"version": 1, "outputs": {"a\0b": "1"}}),
        json.dumps({"version": 1, "outputs": {}, "media": {"a": {"inputs": {}, "stamps": {"a\0b": "1"}}}}),
        json.dumps({"version": 1, "outputs": {}, "media": {"a": {"inputs": {}, "stamps": {"\ud800": "1"}}}}),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, body: str) -> None:
    (tmp_path / STATE_FILE).write_text(body)
    with pytest.raises(UserError, match="was damaged"):
        load_state(tmp_path)


def test_a_run_that_was_cut_off_is_known(made: Path) -> None:
    record = Record.unfinished(["agent.iso"])
    assert list(record.changes(made, INPUTS)) == ["the last run did not finish"]
    assert not record.has_changed(made, "agent.iso")
    finished = load_state(made).media["agent.iso"]
    assert not finished.has_changed(made, "agent.iso")
    (made / "agent.iso").write_bytes(b"other")
    assert finished.has_changed(made, "agent.iso")
