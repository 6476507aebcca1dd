# SPDX-License-Identifier: Apache-2.0
"""Lines of the log: an unexpected failure comes with its traceback, and without secrets."""

from __future__ import annotations

import logging

import pytest

from muster.cli.log import _Redacting


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
