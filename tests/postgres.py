# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL of the tests' own: a server on a socket and a free loopback port, in a temporary directory."""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

PASSWORD = "p@ss/w:rd"
_USER = "postgres"
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "off",  # The tests kill the server, not the machine.
    "max_connections": "50",
    "shared_buffers": "16MB",
}


class Postgres:
    """A server. It refuses to be root, so root starts it as the user whom Debian's package makes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._data = folder / "data"
        self._names = (f"test{number}" for number in itertools.count(1))
        self._as: list[str] = []
        if os.geteuid() == 0:
            user = pwd.getpwnam(_USER)
            os.chown(folder, user.pw_uid, user.pw_gid)
            self._as = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        secret = folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        self._run(
            *("initdb", "--pgdata", self._data, "--username", _USER, "--pwfile", secret, "--no-sync"),
            *("--auth-local", "trust", "--auth-host", "scram-sha-256", "--encoding", "UTF8", "--no-locale"),
        )
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        settings = {**_SETTINGS, "port": self.port, "unix_socket_directories": folder}
        with (self._data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())

    def _run(self, program: str, *arguments: str | Path) -> None:
        path = max(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"), key=lambda each: int(each.parts[4]))
        done = subprocess.run(
            [*self._as, path, *arguments],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout

    def start(self) -> None:
        """Start it, and wait until it can be asked."""
        self._run("pg_ctl", "start", "-w", "-s", "-D", self._data, "-l", self.folder / "log")

    def stop(self, mode: str = "immediate") -> None:
        """Stop it; `immediate` is as if it were killed."""
        self._run("pg_ctl", "stop", "-w", "-s", "-m", mode, "-D", self._data)

    def url(self, database: str, password: str = "p%40ss%2Fw%3Ard") -> str:
        """How a database is reached over the network."""
        return f"postgresql://{_USER}:{password}@127.0.0.1:{self.port}/{database}"

    def create(self, *options: str) -> str:
        """A new, empty database; its name."""
        name = next(self._names)
        with self.ask("postgres") as connection:
            connection.execute(f"CREATE DATABASE {name} {' '.join(options)}".encode())
        return name

    @contextmanager
    def ask(self, database: str) -> Iterator[psycopg.Connection]:
        """A connection of an administrator."""
        with psycopg.connect(
            host=str(self.folder), port=self.port, user=_USER, dbname=database, autocommit=True
        ) as connection:
            yield connection


@contextmanager
def start_postgres() -> Iterator[Postgres]:
    """A server that is gone at the end, with all that it kept."""
    folder = Path(tempfile.mkdtemp(prefix="muster-postgres-"))  # Its socket needs a short path.
    folder.chmod(0o755)
    try:
        server = Postgres(folder)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)
