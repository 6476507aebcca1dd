# SPDX-License-Identifier: Apache-2.0
"""Registries that serve: the real command in a process of its own, on a free port."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import bcrypt

from tests.component.release.mounts import call

DEADLINE_S = 60.0


@dataclass(frozen=True)
class Got:
    """An answer."""

    status: int
    headers: dict[str, str]
    """By names in lower case."""
    body: bytes

    @property
    def code(self) -> str:
        return str(json.loads(self.body)["errors"][0]["code"])


@dataclass(frozen=True)
class Served:
    """A registry that runs."""

    process: subprocess.Popen[str]
    url: str
    log: Path

    @property
    def place(self) -> str:
        """Address and port."""
        return urlsplit(self.url).netloc

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.place, timeout=DEADLINE_S)

    def ask(self, path: str, method: str = "GET", **headers: str) -> Got:
        """Ask once, over a connection that is closed then."""
        with contextlib.closing(self.connect()) as connection:
            return ask(connection, path, method, **headers)

    def wait_for(self, text: str) -> str:
        """Wait until it has logged something; all that it logged."""
        end = time.monotonic() + DEADLINE_S
        while text not in (said := self.log.read_text("utf-8")):
            assert time.monotonic() < end, f"{text!r} was not logged, but: {said}"
            time.sleep(0.02)
        return said

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(DEADLINE_S)


def ask(connection: http.client.HTTPConnection, path: str, method: str = "GET", **headers: str) -> Got:
    connection.request(method, path, headers={name.replace("_", "-"): text for name, text in headers.items()})
    response = connection.getresponse()
    named = {name.lower(): value for name, value in response.getheaders()}
    return Got(response.status, named, response.read())


@contextlib.contextmanager
def start_registry(root: Path, folder: Path, *flags: str | Path) -> Iterator[Served]:
    """Serve a store; what it logs goes into a file of the folder. It has to end well when it is asked to."""
    log = folder / f"registry-{len(list(folder.glob('registry-*.log')))}.log"
    argv = ["registry", "serve", root, "--listen", "127.0.0.1:0", "--output", "json", *flags]
    with (
        log.open("w") as file,
        subprocess.Popen(
            [sys.executable, "-m", "muster.cli", *map(str, argv), "--log-level", "debug"],
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
            env={**os.environ, "PYTHONWARNINGS": "error", "PYTHONDEVMODE": "1"},
        ) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, log.read_text("utf-8")
            yield Served(process, json.loads(line)["url"], log)
        finally:
            if process.poll() is None:
                process.terminate()
            try:
                status = process.wait(DEADLINE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
    said = log.read_text("utf-8")
    assert status == 0, said
    assert "Traceback" not in said, said


@dataclass(frozen=True)
class Papers:
    """A certificate for 127.0.0.1, which is its own authority."""

    certificate: Path
    key: Path

    @property
    def folder(self) -> Path:
        """As --cert-dir of podman and skopeo has it: the authority is called ca.crt."""
        return self.certificate.parent


def make_papers(folder: Path) -> Papers:
    folder.mkdir()
    papers = Papers(folder / "ca.crt", folder / "server.pem")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
            *("-days", "2", "-subj", "/CN=a registry", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-out", papers.certificate, "-keyout", papers.key),
        ],
        check=True,
        capture_output=True,
    )
    return papers


def make_signing_pair(folder: Path) -> tuple[Path, Path]:
    """A private key, and the public one of it."""
    key, public = folder / "sign.key", folder / "sign.pub"
    call("openssl", "genpkey", "-algorithm", "ed25519", "-out", key)
    call("openssl", "pkey", "-in", key, "-pubout", "-out", public)
    return key, public


def save_users(path: Path, login: str, rounds: int = 4) -> Path:
    """A file as `htpasswd -B` makes it, with one user:password."""
    user, _, password = login.partition(":")
    path.write_text(f"{user}:{bcrypt.hashpw(password.encode(), bcrypt.gensalt(rounds)).decode()}\n")
    return path
