# SPDX-License-Identifier: Apache-2.0
"""Runs the real command in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Result:
    """What a run gave."""

    status: int
    out: str
    err: str


def run(*arguments: str | Path, stdin: str = "", env: dict[str, str] | None = None) -> Result:
    """Run `muster` to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "muster.cli", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        env={**os.environ, **(env or {})},
        check=False,
    )
    result = Result(done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in result.out + result.err
    return result
