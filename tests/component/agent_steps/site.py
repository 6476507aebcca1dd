# SPDX-License-Identifier: Apache-2.0
"""Hosts on one switch, each a network namespace; they are gone with everything in them after the test."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from muster.agent.steps.outcome import Outcome
from muster.run import Circumstances, run

ROOT = Path(__file__).parent.parent.parent.parent


class Host:
    """A host with one card, eth0."""

    def __init__(self, number: int, prefix: str, switch: str) -> None:
        self.namespace = f"{prefix}-{number}"
        self.mac = f"02:00:00:00:00:{number:02x}"
        self.port = f"port{number}"
        run(["ip", "netns", "add", self.namespace])
        batch(
            switch, f"link add {self.port} type veth peer name eth0 address {self.mac} netns {self.namespace}"
        )
        batch(switch, f"link set {self.port} master br0 up")
        batch(self.namespace, "link set lo up", "link set eth0 up")

    def give(self, *addresses: str) -> None:
        """Give it addresses."""
        late = {each: " nodad" if ":" in each else "" for each in addresses}
        batch(self.namespace, *(f"address add {each} dev eth0{late[each]}" for each in addresses))

    def run(self, *argv: str | Path) -> str:
        return run(["ip", "netns", "exec", self.namespace, *argv], circumstances=Circumstances(cwd=ROOT))

    def do(self, step: str, argument: Any, *, before: Sequence[str] = ()) -> Outcome:
        """Let it do a step; what came of it."""
        act = [sys.executable, "-m", "tests.component.agent_steps.acting", step, json.dumps(argument)]
        found = json.loads(self.run(*before, *act).splitlines()[-1])
        return Outcome(found["output"], found["exit_code"], found["error"])


class Site:
    """A switch and what is plugged into it."""

    def __init__(self) -> None:
        self._prefix = f"test-{secrets.token_hex(3)}"
        self.switch = f"{self._prefix}-switch"
        self._hosts: list[Host] = []
        run(["ip", "netns", "add", self.switch])
        batch(self.switch, "link add br0 type bridge stp_state 0 mcast_snooping 0", "link set br0 up")

    def add(self, *addresses: str) -> Host:
        """Plug in a host."""
        host = Host(len(self._hosts) + 1, self._prefix, self.switch)
        self._hosts.append(host)
        host.give(*addresses)
        return host

    def clear(self) -> None:
        """End what runs, and remove all."""
        for namespace in (*(host.namespace for host in self._hosts), self.switch):
            for pid in run(["ip", "netns", "pids", namespace]).split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            run(["ip", "netns", "delete", namespace])


def batch(namespace: str, *lines: str) -> None:
    """Change the links of a namespace."""
    if lines:
        run(["ip", "-n", namespace, "-batch", "-"], feed="\n".join(lines) + "\n")
