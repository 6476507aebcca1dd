# SPDX-License-Identifier: Apache-2.0
"""The picture stays below the lines, and leaves nothing behind."""

from __future__ import annotations

import io
import json

import pytest

from muster.cli.teller import Teller
from muster.client.telling import make_line


def test_a_picture_takes_the_place_of_the_one_before() -> None:
    stream = io.StringIO()
    teller = Teller(stream, as_json=False)
    teller.show(lambda _extent: ["one", "two"])
    assert stream.getvalue() == "one\ntwo\n"
    teller.show(lambda _extent: ["three"])
    assert stream.getvalue() == "one\ntwo\n\x1b[2A\x1b[Jthree\n"
    teller.close()
    assert stream.getvalue().endswith("three\n\x1b[1A\x1b[J")


def test_it_steps_aside_for_lines() -> None:
    stream = io.StringIO()
    teller = Teller(stream, as_json=False)
    teller.show(lambda _extent: ["picture"])
    with teller.aside():
        stream.write("a line\n")
    assert stream.getvalue() == "picture\n\x1b[1A\x1b[Ja line\npicture\n"


def test_a_terminal_that_is_gone_is_no_reason_to_stop() -> None:
    stream = io.StringIO()
    teller = Teller(stream, as_json=False)
    stream.close()
    teller.show(lambda _extent: ["picture"])
    with teller.aside():
        pass
    teller.close()


def test_programs_get_one_object_per_line(capsys: pytest.CaptureFixture[str]) -> None:
    teller = Teller(None, as_json=True)
    teller.tell(make_line("trouble", "first\nsecond", warn=True, id="ntp-synced", fix=""))
    (line,) = capsys.readouterr().out.splitlines()
    body = json.loads(line)
    assert body.pop("time")
    assert body == {"kind": "trouble", "level": "warning", "id": "ntp-synced", "message": "first\nsecond"}
