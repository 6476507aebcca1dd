# SPDX-License-Identifier: Apache-2.0
"""Three members of a real etcd on loopback addresses of their own, each with a folder for its host."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from muster.certificates.issue import (
    CLIENT,
    SERVER,
    TEN_YEARS,
    Term,
    Wish,
    common_name,
    issue,
    make_authority,
    render_certificate,
)
from muster.certificates.keys import P256, make_key, render_key
from muster.model.voters import VOTERS_FILE, Voters, client_url, peer_url, render_members
from muster.node.membership import Known, parse_members
from muster.node.replacing import SETTINGS, Etcd, load_voters
from muster.run import Argument, Said, ask
from tests.seeds import NOW, seeded

_PATIENCE_S = 60.0


class Member:
    """One host, as a folder, and the etcd that runs on it."""

    def __init__(self, root: Path, programs: Path, name: str) -> None:
        self.root, self._programs, self.name = root, programs, name
        self.said: list[str] = []
        self.killed_after = ""
        """A word of etcdctl after which whoever asked is killed."""
        self.when_it_sleeps: Callable[[], None] = lambda: None
        self._process: subprocess.Popen[bytes] | None = None

    async def ask(self, argv: Sequence[Argument], *, deadline_s: float, feed: str = "") -> Said:
        said = await ask([self._programs / str(argv[0]), *argv[1:]], deadline_s=deadline_s, feed=feed)
        if self.killed_after in argv:
            raise KeyboardInterrupt
        return said

    async def _sleep(self, seconds: float) -> None:
        act, self.when_it_sleeps = self.when_it_sleeps, lambda: None
        act()
        await asyncio.sleep(min(seconds, 0.5))

    @property
    def etcd(self) -> Etcd:
        return Etcd(self, load_voters(self.root), self.said.append, self._sleep)

    def start(self) -> None:
        """As the unit does it: the defaults, and what `settle` left."""
        voters, data = load_voters(self.root), self.root / "var/lib/etcd"
        address, pki = voters.members[self.name], self.root / "etc/kubernetes/pki/etcd"
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        initial = {
            "ETCD_INITIAL_CLUSTER": render_members(voters.initial),
            "ETCD_INITIAL_CLUSTER_STATE": "new",
        }
        settings = self.root / SETTINGS
        if settings.exists():
            initial |= dict(line.split("=", 1) for line in settings.read_text().splitlines())
        peer, client = peer_url(address), client_url(address)
        argv = [
            str(self._programs / "etcd"),
            f"--name={self.name}",
            f"--data-dir={data}",
            "--initial-cluster-token=t",
            f"--initial-advertise-peer-urls={peer}",
            f"--listen-peer-urls={peer}",
            f"--advertise-client-urls={client}",
            f"--listen-client-urls={client}",
            *(f"--{kind}cert-file={pki}/member.crt" for kind in ("", "peer-")),
            *(f"--{kind}key-file={pki}/member.key" for kind in ("", "peer-")),
            *(f"--{kind}trusted-ca-file={pki}/ca.crt" for kind in ("", "peer-")),
            *(f"--{kind}client-cert-auth=true" for kind in ("", "peer-")),
            "--log-level=error",
            "--heartbeat-interval=300",
            "--election-timeout=3000",
            "--unsafe-no-fsync",
        ]
        with (self.root / "log").open("ab") as log:
            self._process = subprocess.Popen(argv, env={**os.environ, **initial}, stdout=log, stderr=log)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def wipe(self) -> None:
        """Its disk is replaced: what the installer writes is there again, and nothing else."""
        for name in ("var", "run"):
            shutil.rmtree(self.root / name, ignore_errors=True)


class Trio:
    """All members."""

    def __init__(self, folder: Path, kube: Path, names: Sequence[str]) -> None:
        self._programs = folder / "programs"
        self._programs.mkdir()
        for name in ("etcd", "etcdctl"):
            (self._programs / name).symlink_to(kube)
        net = f"127.{secrets.randbelow(200) + 20}.{secrets.randbelow(256)}"
        addresses = {name: f"{net}.{number}" for number, name in enumerate(names, start=1)}
        random = seeded("etcd")
        term = Term("t", NOW, TEN_YEARS)
        authority = make_authority(common_name("etcd"), make_key(P256, random), term)
        self.members = {name: Member(folder / name, self._programs, name) for name in names}
        for name, member in self.members.items():
            pki = member.root / "etc/kubernetes/pki/etcd"
            pki.mkdir(parents=True)
            key = make_key(P256, random)
            wish = Wish(common_name(name), key, (SERVER, CLIENT), (addresses[name], "127.0.0.1"))
            (pki / "ca.crt").write_text(authority.pem)
            (pki / "member.crt").write_text(render_certificate(issue(authority, wish, term)))
            (pki / "member.key").write_text(render_key(key))
            path = member.root / VOTERS_FILE.lstrip("/")
            path.write_bytes(msgspec.json.encode(Voters(name, addresses)))

    def close(self) -> None:
        for member in self.members.values():
            member.stop()

    def _ask(self, name: str, *words: str) -> str:
        etcd = self.members[name].etcd
        place = client_url(etcd.voters.members[name])
        return asyncio.run(etcd.ask(*words, endpoints=(place,))).out

    def wait_until_healthy(self, *names: str) -> None:
        """Until all of them see a majority."""
        end = time.monotonic() + _PATIENCE_S
        for name in names:
            while '"health":true' not in (said := self._ask(name, "endpoint", "health")):
                log = (self.members[name].root / "log").read_text()[-2000:]
                assert time.monotonic() < end, f"{name}: {said}\n{log}"

    def wait_until_started(self, name: str) -> None:
        """Until it told the others where it is asked: then systemd takes it for started, too."""
        end, other = time.monotonic() + _PATIENCE_S, next(each for each in self.members if each != name)
        while not any(each.name == name and each.has_started for each in self.list(other)):
            assert time.monotonic() < end, (self.members[name].root / "log").read_text()[-2000:]

    def list(self, name: str) -> tuple[Known, ...]:
        return parse_members(self._ask(name, "member", "list"))

    def put(self, name: str, key: str, value: str) -> None:
        self._ask(name, "put", key, value)

    def get(self, name: str, key: str) -> str:
        (found,) = json.loads(self._ask(name, "get", key))["kvs"]
        return base64.b64decode(found["value"]).decode()
