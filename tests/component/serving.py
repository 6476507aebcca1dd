# SPDX-License-Identifier: Apache-2.0
"""Runs `muster serve` in a process of its own, until the test has seen enough."""

from __future__ import annotations

import json
import os
import signal
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

PATIENCE_S = 60
API = "/api/assisted-install/v2"


@dataclass
class Served:
    """A service that runs."""

    process: subprocess.Popen[str]
    told: dict[str, Any]
    """Its first line."""

    def line(self) -> str:
        """The next line that it says."""
        return _read_line(self.process.stdout)

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """End it; its exit status, and what it complained about."""
        self.process.send_signal(number)
        _, err = self.process.communicate(timeout=PATIENCE_S)
        assert "Traceback" not in err
        return self.process.returncode, err

    def ask(self, path: str, body: Any = None, token: str = "") -> tuple[int, Any]:
        """A request, with the authority that it names as the only one that is trusted."""
        context = ssl.create_default_context(cafile=self.told["certificate"])
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} | (
            {"Authorization": f"Bearer {token}"} if token else {}
        )
        request = urllib.request.Request(self.told["url"] + path, data, headers)
        try:
            with urllib.request.urlopen(request, context=context, timeout=PATIENCE_S) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def log_in(self) -> str:
        """The token that one gets for the code."""
        status, body = self.ask(f"{API}/login", {"code": self.told["code"]})
        assert status == 201, body
        token: str = body["token"]
        return token


def command(*arguments: str | Path, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    """`muster serve`, just started."""
    return subprocess.Popen(
        [sys.executable, "-m", "muster.cli", "serve", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **(env or {})},
    )


@contextmanager
def serve(*arguments: str | Path, env: dict[str, str] | None = None) -> Iterator[Served]:
    """A service at a port that is free, unless the arguments say something else."""
    given = (
        ("--listen", "127.0.0.1:0") if "--listen" not in arguments and "--settings" not in arguments else ()
    )
    process = command("--output", "json", *given, *arguments, env=env)
    try:
        line = _read_line(process.stdout)
        assert line, process.communicate()
        yield Served(process, json.loads(line))
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def _read_line(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline().rstrip("\n")
