# SPDX-License-Identifier: Apache-2.0
"""Hosts that hold the addresses of a cluster: a network namespace each, with the keepalived of their unit."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from muster.model.firewall import RULES_FILE
from muster.release.node.cluster import Cluster, Member
from muster.release.node.firewall import render_firewall
from muster.release.node.templates import program
from muster.release.node.tuning import VipTuning
from muster.release.node.vips import vips
from muster.run import Circumstances, run, start
from tests.component.agent_steps.site import ROOT, Host, Site
from tests.component.release.authority import Authority

QUICK = VipTuning(advert_s=1, check_s=1, fall=1)
PREFIX = {4: 24, 6: 64}
PATIENCE_S = 60.0


class Holder:
    """A host with its part of a cluster, as a folder and a namespace."""

    def __init__(self, cluster: Cluster, member: Member, site: Site, folder: Path) -> None:
        self.root = folder / member.name
        self.root.mkdir()
        self._authority = Authority(self.root)
        self.host: Host = site.add(*(f"{each}/{PREFIX[each.version]}" for each in member.addresses))
        config = vips(cluster, member, QUICK)
        for file in (program("listens"), *config.files):
            self._put(file.path, file.data.decode(), file.mode)
        self._put("/etc/kubernetes/network/addresses", "".join(f"{each}\n" for each in member.addresses))
        self._put("/etc/kubernetes/pki/api-ca.crt", self._authority.pem)
        self._put(RULES_FILE, render_firewall(cluster, member))
        self.unit = config.units[0].contents
        self.log = self.root / "keepalived.log"
        self._running: dict[str, int] = {}

    def _put(self, path: str, text: str, mode: int = 0o644) -> None:
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        for place in (" /etc/", '"/usr/local/'):
            text = text.replace(place, f"{place[0]}{self.root}{place[1:]}")
        target.write_text(text)
        target.chmod(mode)

    def _command(self, key: str) -> list[str]:
        found = re.search(rf"^{key}=((?:.*\\\n)*.*)$", self.unit, re.MULTILINE)
        assert found
        text = found[1].replace("\\\n", " ").replace("=/run/", f"={self.root}/run/")
        return shlex.split(text.replace("/usr/local/bin/", f"{self.root}/usr/local/bin/"))

    def prepare(self) -> list[str]:
        """Do what comes before keepalived, with a new folder in /run; the command that starts it."""
        folder = self.root / "run/muster-vips"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        path = f"PATH={self.root}/usr/local/bin:{os.environ['PATH']}"
        inside = ["ip", "netns", "exec", self.host.namespace, "env", path, f"MUSTER_ROOT={self.root}"]
        run([*inside, *self._command("ExecStartPre")])
        return [*inside, *self._command("ExecStart")]

    def hold(self, *, guarded: bool = True) -> None:
        """Start keepalived, behind the firewall of the host."""
        if guarded:
            self.guard()
        start(self.prepare(), log=self.log)

    def guard(self) -> None:
        self.host.run("nft", "--file", self.root / RULES_FILE.lstrip("/"))

    @property
    def dropped(self) -> int:
        """How many packets to the host itself the firewall dropped."""
        rules = self.host.run("nft", "list", "chain", "inet", "muster", "input")
        found = re.search(r"counter packets (\d+) .* drop", rules)
        assert found
        return int(found[1])

    def crash(self) -> None:
        """keepalived ends without a word, and cannot put anything in order."""
        here = map(int, run(["ip", "netns", "pids", self.host.namespace]).split())
        pids = [pid for pid in here if Path(f"/proc/{pid}/comm").read_text().startswith("keepalived")]
        for number in (signal.SIGSTOP, signal.SIGKILL):  # None of them notices that another has ended.
            for pid in pids:
                os.kill(pid, number)

    def serve_api(self) -> None:
        """An API that is ready."""
        self._serve("api", "-m", "tests.component.vips.api", self._authority.certificate, self._authority.key)

    def take_requests(self) -> None:
        """Something that takes requests from outside."""
        self._serve("ingress", "-m", "http.server", "--bind", "::", "80")

    def _serve(self, name: str, *argv: str | Path) -> None:
        whole = ["ip", "netns", "exec", self.host.namespace, sys.executable, *argv]
        self._running[name] = start(
            whole, log=self.root / f"{name}.log", circumstances=Circumstances(cwd=ROOT)
        )

    def end(self, name: str) -> None:
        os.kill(self._running.pop(name), signal.SIGKILL)

    def has(self, address: object) -> bool:
        return bool(self.host.run("ip", "-oneline", "address", "show", "to", str(address)))


def wait(until: Callable[[], bool], *holders: Holder) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not until():
        assert time.monotonic() < deadline, "\n".join(holder.log.read_text() for holder in holders)
        time.sleep(0.1)
