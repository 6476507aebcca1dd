# SPDX-License-Identifier: Apache-2.0
"""Hosts on one network, each in a namespace of its own."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeAlias

import msgspec
import pytest

from muster.agent.meeting.acting import SERVICE
from muster.agent.meeting.choice import Kind, Standing, Want, Wish
from muster.agent.meeting.place import MeetingPlace
from muster.board import Notice, read_notice
from muster.model.firewall import render_live
from muster.model.meeting import AGENT_TOKEN, ENVIRONMENT, SERVICE_AUTHORITY
from muster.model.service_card import CARD_FILE, LOGIN_FILE, LoginCode, ServiceCard
from muster.run import run
from muster.service.edge.tls import Moment, make_identity
from tests.component.meeting.host import ASKED

_SOON_S = 40.0
LATER = datetime.now(UTC) + timedelta(minutes=9)


class Host:
    """A host, as whoever stands before it sees it."""

    def __init__(self, folder: Path, namespace: str, number: int) -> None:
        self.root, self.name, self._namespace = folder, f"host-{number}", namespace
        self.ip4, self.ip6 = f"192.0.2.{number}", f"fd00::{number}"
        folder.mkdir()
        self.place = MeetingPlace(folder)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the program that sees to the choice."""
        inner = [sys.executable, "-m", "tests.component.meeting.host", str(self.root), self.name]
        self._process = subprocess.Popen(["ip", "netns", "exec", self._namespace, *inner])

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def drop_ipv4(self) -> None:
        """From now on it has the other family only."""
        run(["ip", "-n", self._namespace, "-4", "address", "flush", "dev", "eth0"])

    def flood(self) -> None:
        """Send much that makes no sense to those who hear."""
        run(["ip", "netns", "exec", self._namespace, sys.executable, "-m", "tests.component.meeting.flood"])

    def want(self, want: Want, ip: str = "", code: str = "", authority: str = "") -> Wish:
        """Choose."""
        wish = Wish(secrets.token_hex(4), want, ip, code, authority=authority)
        self.place.save_wish(wish)
        return wish

    def wish(self, want: Want, ip: str = "", code: str = "", authority: str = "") -> Standing:
        """Choose, and wait for what comes of it."""
        wish = self.want(want, ip, code, authority)
        self.until(lambda: self.standing.handled == wish.name and self.standing.kind is not Kind.LEAVING)
        self.until(lambda: self.has(ENVIRONMENT) == (self.standing.kind is not Kind.OPEN))
        return self.standing

    @property
    def standing(self) -> Standing:
        return self.place.load_standing()

    @property
    def notice(self) -> Notice | None:
        return read_notice(self.root / "run/muster/meet.json")

    @property
    def asked(self) -> list[str]:
        path = self.root / ASKED
        return path.read_text().splitlines() if path.exists() else []

    def text(self, path: str) -> str:
        return (self.root / path.lstrip("/")).read_text()

    def has(self, path: str) -> bool:
        return (self.root / path.lstrip("/")).exists()

    def until(self, is_so: Callable[[], bool]) -> None:
        end = time.monotonic() + _SOON_S
        while not is_so():
            assert time.monotonic() < end, (self.name, self.standing, self.notice)
            time.sleep(0.05)

    def serve(self, code: str = "8QK2M 7WXNB") -> ServiceCard:
        """What the service of the rendezvous host leaves for others when it is up."""
        keys = self.root / SERVICE / "keys"
        keys.mkdir(parents=True, exist_ok=True)
        names = (self.ip4, self.ip6)
        identity = make_identity(keys, names, Moment(datetime.now(UTC), os.urandom))
        card = ServiceCard(f"https://{self.ip4}:8090", identity.fingerprint, identity.authority_pem)
        for path, data in (
            (AGENT_TOKEN, b"the-token"),
            (SERVICE_AUTHORITY, card.authority.encode()),
            (f"run/muster/{LOGIN_FILE}", msgspec.json.encode(LoginCode(code, LATER))),
            (f"run/muster/{CARD_FILE}", msgspec.json.encode(card)),
        ):
            target = self.root / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        return card


NewHost: TypeAlias = Callable[[], Host]


@pytest.fixture
def new_host(root: None, tmp_path: Path) -> Iterator[NewHost]:
    """Makes hosts on one network, each behind the firewall of live hosts."""
    tag = secrets.token_hex(3)
    switch = f"test-{tag}-s"
    run(["ip", "netns", "add", switch])
    run(["ip", "-n", switch, "link", "add", "br0", "type", "bridge", "mcast_snooping", "0"])
    run(["ip", "-n", switch, "link", "set", "br0", "up"])
    hosts: list[Host] = []
    spaces = [switch]

    def make() -> Host:
        number = len(hosts) + 10
        space = f"test-{tag}-{number}"
        run(["ip", "netns", "add", space])
        spaces.append(space)
        port = f"p{number}"
        run(["ip", "-n", switch, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", space])
        run(["ip", "-n", switch, "link", "set", port, "master", "br0", "up"])
        for words in (
            "link set lo up",
            "link set eth0 up",
            f"address add 192.0.2.{number}/24 dev eth0",
            f"address add fd00::{number}/64 dev eth0 nodad",
        ):
            run(["ip", "-n", space, *words.split()])
        run(["ip", "netns", "exec", space, "nft", "--file", "-"], feed=render_live())
        host = Host(tmp_path / space, space, number)
        hosts.append(host)
        return host

    yield make
    for host in hosts:
        host.kill()
    for space in spaces:
        run(["ip", "netns", "delete", space])
