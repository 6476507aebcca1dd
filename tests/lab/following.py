# SPDX-License-Identifier: Apache-2.0
"""`muster agent wait-for`, followed while things are done to the machines it tells about."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.component.muster import Result

_LOOK_S = 0.5


class Follower:
    """One run of a command; what it says is read while it runs."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], out: Path) -> None:
        self._out = out
        with out.open("wb") as file:
            self._process = subprocess.Popen(argv, env=env, stdout=file, stderr=subprocess.STDOUT)

    @property
    def said(self) -> str:
        return self._out.read_text("utf-8", "replace")

    def until(self, pattern: str) -> None:
        """Wait until it says this; it has to say it before it ends."""
        while not re.search(pattern, self.said):
            assert self._process.poll() is None, f"it ended and did not say {pattern!r}:\n{self.said}"
            time.sleep(_LOOK_S)

    def end(self) -> Result:
        """Wait until it ends, which it does by itself: it was given a time."""
        status = self._process.wait()
        said = self.said
        assert "Traceback" not in said
        return Result(status, said, "")

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()
