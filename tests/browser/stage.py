# SPDX-License-Identifier: Apache-2.0
"""What a story plays on: a service that can be killed, hosts that meet there, and the restart of its host."""

from __future__ import annotations

import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
from playwright._impl._api_structures import SetCookieParam

from muster.lab.sim.machines import Machine
from muster.lab.sim.over_http import Pace, Target
from muster.model.service_card import LoginCode
from muster.service.auth.keys import load_key_ring
from muster.service.auth.personas import Grant, Persona, Scope
from muster.service.auth.sessions import COOKIE
from muster.service.auth.tokens import Tokens
from tests.browser.crew import Crew
from tests.browser.serving import CLUSTER, CODE, HURRIED, INFRA_ENV, READY
from tests.component.service.processes import free_port
from tests.component.service.whole import API, host_epoch, machines, small_release

QUICK = Pace(work=0.002, waits=0.02)
PATIENCE_S = 60.0
"""How long anything may take; `--patience` says otherwise."""


class Stage:
    """One service on one port, whichever process has it, and its hosts."""

    def __init__(self, folder: Path, hosts: list[Machine], pace: Pace = QUICK, **around: Any) -> None:
        self.folder, self.hosts = folder, hosts
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.is_hurried = around.pop("is_hurried", False)
        """Whether the service looks at hosts again much sooner than it does in the world."""
        self.crew = Crew(self._target, pace, **around)
        self._process: subprocess.Popen[bytes] | None = None
        (folder / "parts").mkdir()
        self.version = small_release(folder / "parts", "metrics-server", "traefik").version
        (folder / "rendezvous-ip").write_text(self.rendezvous_ip)

    @property
    def rendezvous_ip(self) -> str:
        """The address of the first host."""
        cards = self.hosts[0].inventory.interfaces or ()
        return next(each.split("/")[0] for card in cards for each in card.ipv4_addresses or ())

    # The service

    def start(self, *more: str) -> None:
        """Start it, and wait until it answers."""
        command = [sys.executable, "-m", "tests.browser.serving", str(self.folder), str(self.port), *more]
        if self.is_hurried:
            command.append(HURRIED)
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.until((self.folder / READY).exists, "the service is up")

    def kill(self) -> None:
        """As if the power were lost, as far as the process is concerned."""
        self._end(signal.SIGKILL)

    def _end(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)
        self._process.wait(30)
        (self.folder / READY).unlink(missing_ok=True)

    def leave(self) -> None:
        """The rendezvous host says good-bye: the service ends, and its data goes to the disk."""
        self._end(signal.SIGTERM)
        shutil.rmtree(self.folder / "disk", ignore_errors=True)
        shutil.copytree(self.folder / "data", self.folder / "disk")

    def come_back(self) -> None:
        """The host has started from its disk, and the service with it."""
        self.start("installed")

    @property
    def code(self) -> str:
        """What the consoles show."""
        return msgspec.json.decode((self.folder / CODE).read_bytes(), type=LoginCode).code

    # The hosts

    def meet(self, *hosts: Machine) -> None:
        """The hosts are switched on: all, or some."""
        self.crew.switch_on(*(hosts or self.hosts))

    def _target(self) -> Target:
        return Target(url=self.url, infra_env_id=INFRA_ENV, token=self._token(), insecure=True, wait_s=5)

    @property
    def tokens(self) -> Tokens:
        """What makes tokens that the service takes."""
        return Tokens(load_key_ring(self.folder / "data/keys", os.urandom))

    def _token(self) -> str:
        return self.tokens.issue(Grant(Persona.MEDIUM, Scope(INFRA_ENV), time.time() + 3600))

    def _host_token(self, path: str) -> str:
        """The own token of a host of the control plane; for a host that is not known, that of the medium."""
        hosts = self.ask("GET", f"/infra-envs/{INFRA_ENV}/hosts") or ()
        known = [each for each in hosts if "master" in (each["role"], each["suggested_role"])]
        if not known or "/progress" in path:
            return self._token()
        scope, epoch = Scope(INFRA_ENV, None, known[0]["id"]), host_epoch(known[0], 1)
        return self.tokens.issue(Grant(Persona.HOST, scope, time.time() + 3600, epoch=epoch))

    # Looking and telling beside the browser

    def ask(self, method: str, path: str, body: Any = None, *, as_host: bool = False) -> Any:
        """One request beside the browser; None when nobody answers."""
        own = (
            self._host_token(path)
            if as_host
            else self.tokens.issue(Grant(Persona.USER, expires=time.time() + 3600, session="beside"))
        )
        header = {"X-Secret-Key": own} if as_host else {"Authorization": f"Bearer {own}"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}{API}{path}", data, header, method=method)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            with urllib.request.urlopen(request, context=context, timeout=10) as answer:
                text = answer.read()
                return json.loads(text) if text else {}
        except urllib.error.HTTPError as error:
            with error:
                return {"status_code": error.code, **json.loads(error.read() or b"{}")}
        except OSError:
            return None

    def cluster(self) -> dict[str, Any]:
        """The cluster as the service shows it; nothing while it does not."""
        found = self.ask("GET", f"/clusters/{CLUSTER}")
        return found if isinstance(found, dict) else {}

    def infra_env_id(self) -> str:
        """Where the hosts of the cluster are."""
        return str(self.cluster()["hosts"][0]["infra_env_id"])

    def is_at(self, status: str) -> bool:
        """Whether the cluster has reached a status."""
        return self.cluster().get("status") == status

    def stage_of_rendezvous(self) -> str:
        """How far the host is that the service runs on."""
        for host in self.cluster().get("hosts", ()):
            if host.get("bootstrap") or len(self.hosts) == 1:
                return str(host.get("progress", {}).get("current_stage") or "")
        return ""

    def complete(self, *names: str) -> None:
        """The cluster tells that all of it is there."""
        for name in ("kubernetes", *names):
            body = {"name": name, "status": "available", "status_info": "all of it is set up"}
            self.ask("PUT", f"/clusters/{CLUSTER}/monitored-operators", body, as_host=True)

    def cookie(self, seconds: float) -> SetCookieParam:
        """What a browser has whose owner logged in; it ends at the service itself after so long."""
        grant = Grant(Persona.USER, expires=float(int(time.time() + seconds)), session=f"browser-{seconds}")
        return {
            "name": COOKIE,
            "value": self.tokens.issue(grant),
            "url": self.url,
            "secure": True,
            "httpOnly": True,
        }

    def until(
        self,
        is_so: Callable[[], bool],
        what: str,
        found: Callable[[], str] = str,
        patience_s: float = 0.0,
    ) -> None:
        """Wait until something is so; if it never is, say what was found instead."""
        end = time.monotonic() + (patience_s or PATIENCE_S)
        while not is_so():
            assert time.monotonic() < end, (
                f"it never came that {what}; {found()} {(self.folder / 'log').read_text()[-2000:]}"
            )
            time.sleep(0.05)

    def close(self) -> None:
        """The hosts are switched off, and the service ends."""
        self.crew.switch_off()
        with suppress(ProcessLookupError, AssertionError):
            self.kill()
        self.crew.close()
        assert "Traceback" not in (self.folder / "log").read_text(), (self.folder / "log").read_text()


@contextmanager
def open_stage(folder: Path, count: int, pace: Pace = QUICK, **around: Any) -> Iterator[Stage]:
    """A service that runs, and so many hosts that are still switched off."""
    stage = Stage(folder, machines(count), pace, **around)
    try:
        stage.start()
        yield stage
    finally:
        stage.close()
