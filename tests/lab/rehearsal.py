# SPDX-License-Identifier: Apache-2.0
"""A lab as a test has it: media are made, machines are booted, and the guests' own reports are the judge."""

from __future__ import annotations

import base64
import io
import json
import os
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from tests.component import muster
from tests.lab.following import Follower

NAME = f"os-{os.getpid()}"
"""Somebody else may run these tests on the same machine."""
DEADLINE = "20m"
"""Emulated machines on a busy computer are slow; one that gives up ends the wait at once."""
_OF_TIMELINE = 40
PROBE = Path(__file__).parent.parent / "component/firewall/probe.py"

Report: TypeAlias = Mapping[str, Any]


class Rehearsal:
    """One lab: up, waited for, looked at, and taken down by the fixture that made it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._env = {"XDG_STATE_HOME": str(folder)}
        self._followers: list[Follower] = []
        self.boots: dict[str, int] = {}
        """How many boots each machine has reported, as of the last wait."""

    def run(self, *arguments: str | Path) -> str:
        """`muster lab ...`, which has to succeed."""
        done = muster.run("lab", *arguments, env=self._env)
        assert done.status == 0, f"muster lab {' '.join(map(str, arguments))}\n{done.out}{done.err}"
        return done.out

    def up(self, site: Path, *more: str | Path) -> None:
        self.run("up", site, "--name", NAME, *more)

    def beside(self, *arguments: str | Path) -> str:
        """`muster ...` in the lab's networks, where a person at the site would be."""
        return self.run("exec", "--lab", NAME, "--", sys.executable, "-m", "muster.cli", *arguments)

    def follow(self, site: Path, timeout: str) -> Follower:
        """`muster agent wait-for install-complete`, which goes on beside the test."""
        return self.begin("agent", "wait-for", "install-complete", "--dir", site, "--timeout", timeout)

    def begin(self, *arguments: str | Path) -> Follower:
        """`muster ...` in the lab's networks, which goes on beside the test."""
        own = [sys.executable, "-m", "muster.cli"]
        argv = [*own, "lab", "exec", "--lab", NAME, "--", *own, *map(str, arguments)]
        path = self._folder / f"follower-{len(self._followers)}.log"
        self._followers.append(Follower(argv, {**os.environ, **self._env}, path))
        return self._followers[-1]

    def ssh(self, machine: str, key: Path, *command: str) -> str:
        """Run a command on a machine, which has to succeed."""
        return self.run("ssh", machine, "--lab", NAME, "--key", key, "--", *command)

    def answering(self, address: str, *ports: str, seconds: int, source: str = "") -> set[str]:
        """Those of the ports (tcp/22) of a machine that answer within so many seconds, seen from the lab.

        The lab calls from its own address in the network of the machine, or from a given one of its own.
        """
        if source:
            self.run("exec", "--lab", NAME, "--", "ip", "address", "replace", f"{source}/32", "dev", "lo")
        probe: tuple[str | Path, ...] = (sys.executable, PROBE, "--source", source, str(seconds), address)
        return {*self.run("exec", "--lab", NAME, "--", *probe, *ports).split()}

    def type(self, machine: str, keys: str) -> None:
        """Press keys at the serial console of a machine."""
        leave = "\x1d"
        done = muster.run("lab", "console", machine, "--lab", NAME, stdin=keys + leave, env=self._env)
        assert done.status == 0, done.err

    def put(self, machine: str, key: Path, files: Mapping[str, tuple[bytes, int]]) -> None:
        """Put files, by path, with their modes, onto a machine that is up."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for path, (content, mode) in files.items():
                entry = tarfile.TarInfo(path.lstrip("/"))
                entry.size, entry.mode = len(content), mode
                archive.addfile(entry, io.BytesIO(content))
        text = base64.b64encode(packed.getvalue()).decode()
        done = muster.run(
            *("lab", "ssh", machine, "--lab", NAME, "--key", key, "--", "sudo"),
            *("sh", "-c", "'base64 -d | tar --extract --directory=/'"),
            stdin=text,
            env=self._env,
        )
        assert done.status == 0, done.err

    def restart(self, machine: str, key: Path) -> None:
        """Restart it as users do, not by a button, until it has reported again."""
        before = self.boots[machine]
        # The connection may go down with the machine, so what ssh says of it proves nothing.
        muster.run("lab", "ssh", machine, "--key", key, "--", "sudo", "systemctl", "reboot", env=self._env)
        self.wait(f"reports:{machine}:{before + 1}")

    def lose_disks(self, machine: str) -> None:
        """A machine that is off gets new disks, as large as those that it had."""
        disks = [each for each in self._folder.rglob("*.img") if each.parent.name == machine]
        assert disks
        for disk in disks:
            size = disk.stat().st_size
            os.truncate(disk, 0)
            os.truncate(disk, size)

    def wait(self, until: str = "healthy") -> dict[str, Report]:
        """Wait until something is so; what each machine reported last."""
        done = muster.run(
            "lab", "wait", "--until", until, "--deadline", DEADLINE, "--output", "json", env=self._env
        )
        assert done.out, done.err
        body = json.loads(done.out)
        timeline = [f"{each['machine']}: {each['what']}" for each in body["timeline"][-_OF_TIMELINE:]]
        reports: dict[str, Report] = body["reports"]
        self.boots = body["boots"]
        if not body["met"]:
            said = {name: report and report["checks"] for name, report in reports.items()}
            words = [f"not so: {', '.join(body['unmet'])}: {body['reason']}", *timeline, json.dumps(said)]
            raise AssertionError("\n".join(words))
        return reports

    def end(self, *, keep_evidence: bool = False) -> str:
        """Take the lab down; where its evidence is, if that is wanted and there was a lab."""
        for follower in self._followers:
            follower.stop()
        more = ["--keep-evidence"] if keep_evidence else []
        done = muster.run("lab", "down", NAME, "--output", "json", *more, env=self._env)
        assert done.status == 0, done.err
        evidence: str | None = json.loads(done.out)["down"][0]["evidence"]
        return evidence or ""


def ignition(
    files: Mapping[str, bytes | str] | None = None, checks: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """An Ignition config with files, and with programs that the guest adds to its report.

    Hosts stay where they are: they neither meet others nor install themselves.
    """
    entries = [_file(path, content, 0o644) for path, content in (files or {}).items()]
    entries += [_file(f"/etc/muster/report.d/{name}", text, 0o755) for name, text in (checks or {}).items()]
    return {
        "ignition": {"version": "3.2.0"},
        "storage": {"files": entries},
        "systemd": {"units": [{"name": "muster-meeting.path", "mask": True}]},
    }


def _file(path: str, content: bytes | str, mode: int) -> dict[str, Any]:
    data = base64.b64encode(content.encode() if isinstance(content, str) else content).decode()
    return {"path": path, "mode": mode, "overwrite": True, "contents": {"source": f"data:;base64,{data}"}}


def answers(*addresses: str) -> str:
    """A check: all of these answer, seen from the guest."""
    return (
        "#!/bin/sh\nsilent=\n"
        f"for address in {' '.join(addresses)}; do\n"
        '    ping -q -c 1 -W 3 "$address" >/dev/null 2>&1 || silent="$silent $address"\n'
        "done\n"
        '[ -z "$silent" ] && echo all answer && exit\n'
        'echo "no answer from$silent"\nexit 1\n'
    )


def save_json(path: Path, body: Mapping[str, Any]) -> Path:
    path.write_text(json.dumps(body), "utf-8")
    return path


def save_yaml(path: Path, body: Mapping[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(body, sort_keys=False), "utf-8")
    return path


def create(site: Path, verb: str, *more: str | Path) -> None:
    """`muster agent create ...`, which has to succeed."""
    done = muster.run("agent", "create", verb, "--dir", site, *more)
    assert done.status == 0, done.err


def on_link(report: Report, address: str) -> str:
    """The link of a guest that has an address; empty when none has it."""
    found: Mapping[str, list[str]] = report["addresses"]
    return next((link for link, addresses in found.items() if address in addresses), "")
