# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, or a kill, while a lab comes up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.component import muster
from tests.component.lab.test_lab import NAME, NAMESPACES, pytestmark, site

__all__ = ["pytestmark", "site"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_stays_that_down_does_not_find(site: Path, tmp_path: Path, number: signal.Signals) -> None:
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}
    argv = [sys.executable, "-m", "muster.cli", "lab", "up", str(site), "--name", NAME]
    with subprocess.Popen(argv, env={**os.environ, **env}, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "master-1 is on" in line:
                process.send_signal(number)
                break
        process.stderr.read()
        process.wait()
    if number == signal.SIGINT:
        assert process.returncode in (0, 8), "it may have been done already"
    result = muster.run("lab", "down", NAME, env=env)
    assert result.status == 0
    assert not (NAMESPACES / f"muster-{NAME}").exists()
    assert not (tmp_path / f"state/muster/labs/{NAME}").exists()
    assert not find_our_own(tmp_path)


def find_our_own(tmp_path: Path) -> list[str]:
    """Processes of the lab that are still there."""
    found = []
    for path in Path("/proc").iterdir():
        if path.name.isdigit() and path.name != str(os.getpid()):
            try:
                words = (path / "environ").read_bytes()
                if b"MUSTER_LAB=" in words and str(tmp_path).encode() in words:
                    found.append(path.name)
            except OSError:
                continue
    return found
