# SPDX-License-Identifier: Apache-2.0
"""Unit tests are pure: no process, no socket, no sleep."""

from __future__ import annotations

import socket
import subprocess
import time
from typing import NoReturn

import pytest

from muster.cli import log


@pytest.fixture(autouse=True)
def forbid_the_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object, **_kwargs: object) -> NoReturn:
        pytest.fail("unit tests start no process, open no socket and do not sleep")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(time, "sleep", refuse)


@pytest.fixture(autouse=True)
def begin_a_run() -> None:
    """What an earlier test asked of the messages of its run is not asked of this one's."""
    log.start([])
