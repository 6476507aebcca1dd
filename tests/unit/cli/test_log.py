# SPDX-License-Identifier: Apache-2.0
"""Lines of the log: an unexpected failure comes with its traceback, and without secrets."""

from __future__ import annotations

import errno
import io
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.cli import log
from muster.cli.log import AUDIT, _Redacting


def fail() -> None:
    raise ValueError("cannot reach https://me:hunter2@example.com/")


@pytest.mark.parametrize("dated", [True, False])
def test_a_failure_is_written_with_its_traceback(dated: bool) -> None:
    with pytest.raises(ValueError, match="cannot reach") as caught:
        fail()
    failure = (caught.type, caught.value, caught.tb)
    record = logging.LogRecord("muster", logging.ERROR, "", 1, "%s: a bug", ("x",), failure)
    text = _Redacting(dated=dated).format(record)
    assert "x: a bug" in text
    assert "Traceback" in text
    assert "test_log.py" in text
    assert "hunter2" not in text


@pytest.fixture
def audit() -> Iterator[logging.Logger]:
    """The logger of audit records, with the handlers of before at the end."""
    found = logging.getLogger(AUDIT)
    before = list(found.handlers)
    yield found
    for each in set(found.handlers) - set(before):
        found.removeHandler(each)
        each.close()


@pytest.mark.parametrize("level", ["debug", "info", "warn", "error", "fatal"])
def test_audit_records_are_written_at_every_log_level(
    level: str, audit: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    log.start(["serve"])
    log.configure(level, None, as_json=False)
    audit.info("%s", '{"event": "login"}')
    log.say("an ordinary line")
    err = capsys.readouterr().err
    assert err.count('{"event": "login"}\n') == 1
    assert ("an ordinary line" in err) == (level in ("debug", "info"))


def test_audit_file_that_cannot_be_rotated_is_appended_to(
    tmp_path: Path,
    audit: logging.Logger,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "audit.log"
    monkeypatch.setattr(log, "_AUDIT_BYTES", 200)
    log.start(["serve"])
    log.open_audit_log(path)

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", refuse)
        for number in range(30):
            audit.info("record %02d", number)
    assert path.read_text().splitlines() == [f"record {number:02d}" for number in range(30)]
    warnings = [line for line in capsys.readouterr().err.splitlines() if "cannot rotate" in line]
    assert len(warnings) == 1
    assert f"the audit log {path}: Permission denied; it grows" in warnings[0]
    for number in range(30, 60):
        audit.info("record %02d", number)
    files = sorted(tmp_path.iterdir())
    assert len(files) > 1, "it is rotated as soon as that is possible"
    text = "".join(each.read_text() for each in files)
    assert all(f"record {number:02d}\n" in text for number in range(30, 60))


class FullDisk(io.StringIO):
    """A file without space for anything."""

    def write(self, _: str) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_audit_file_that_cannot_be_written_is_reported_once(
    tmp_path: Path,
    audit: logging.Logger,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:

    def open_full(descriptor: int, *_: object, **__: object) -> FullDisk:
        os.close(descriptor)
        return FullDisk()

    monkeypatch.setattr(os, "fdopen", open_full)
    log.start(["serve"])
    log.open_audit_log(tmp_path / "audit.log")
    for number in range(3):
        audit.info("record %d", number)
    err = capsys.readouterr().err
    assert err.count("cannot write the audit log") == 1
    assert "No space left on device; records that are missing in it are on stderr" in err
    assert all(f"record {number}\n" in err for number in range(3))
