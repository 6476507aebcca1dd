# SPDX-License-Identifier: Apache-2.0
"""The programs that copy a seed, run by a real shell with fake tools on PATH."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from muster.config.check import check_folder
from muster.config.document.folder import Directory
from muster.config.resolve_image_based import resolve_installation
from muster.image.ignition.scripts import load_script
from muster.image.image_based.installation import build_installation_ignition
from muster.model.site import Environment
from tests.fleets import EXAMPLE


class Machine:
    """A folder with programs that note how they were called."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.log = root / "calls"
        self.log.touch()
        (root / "bin").mkdir()
        self.add("agetty", "exit 0")
        self.add("say", 'echo "$*" >> "$CALLS.said"')

    def add(self, name: str, body: str) -> None:
        program = self.root / "bin" / name
        program.write_text(f'#!/bin/sh\necho "{name} $*" >> "$CALLS"\n{body}\n')
        program.chmod(0o755)

    def run(self, script: str, **more: str) -> int:
        program = self.root / f"{script}.sh"
        program.write_bytes(load_script(script))
        environment = {
            "PATH": f"{self.root}/bin:{os.environ['PATH']}",
            "CALLS": str(self.log),
            "SAY": f"{self.root}/bin/say",
            "LCA_CLI": f"{self.root}/bin/lca-cli",
            "TRIES": "3",
            "PAUSE_S": "0",
            **more,
        }
        return subprocess.run(
            ["bash", str(program), *more.get("TEXT", "").split()], env=environment, check=False
        ).returncode

    @property
    def said(self) -> str:
        path = Path(f"{self.log}.said")
        return path.read_text() if path.exists() else ""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


SEED = {
    "SEED_IMAGE": "registry.example.com/seed:1",
    "PULL_SECRET_FILE": "/var/tmp/pull-secret.json",
    "IBI_CONFIGURATION_FILE": "/var/tmp/ibi-configuration.json",
}


def test_the_seed_is_copied(machine: Machine) -> None:
    machine.add("podman", "exit 0")
    machine.add("lca-cli", "exit 0")
    assert machine.run("restore-seed", **SEED) == 0
    calls = machine.log.read_text()
    assert (
        "podman create --authfile /var/tmp/pull-secret.json --name lca-cli registry.example.com/seed:1"
        in calls
    )
    assert "lca-cli ibi -f /var/tmp/ibi-configuration.json" in calls
    assert "ready for its site" in machine.said


def test_a_registry_that_never_answers_is_given_up(machine: Machine) -> None:
    machine.add("podman", '[ "$1" != create ]')
    assert machine.run("restore-seed", **SEED) == 1
    assert "try 3 of 3" in machine.said
    assert "try 4" not in machine.said
    last = machine.said.splitlines()[-1]
    assert "cannot be fetched" in last
    assert "systemctl restart" in last


def test_a_registry_that_hangs_is_given_up(machine: Machine) -> None:
    machine.add("podman", '[ "$1" != create ] || exec sleep 60')
    assert machine.run("restore-seed", **SEED, TRIES="2", FETCH_S="0.2") == 1
    assert "try 2 of 2" in machine.said
    assert "cannot be fetched" in machine.said.splitlines()[-1]


def test_all_tries_together_have_an_end(machine: Machine) -> None:
    machine.add("podman", '[ "$1" != create ]')
    assert machine.run("restore-seed", **SEED, TRIES="9", ALL_TRIES_S="0") == 1
    assert "try 2" not in machine.said
    assert "cannot be fetched" in machine.said.splitlines()[-1]


def test_a_copy_that_fails_is_told(machine: Machine) -> None:
    machine.add("podman", "exit 0")
    machine.add("lca-cli", "exit 7")
    assert machine.run("restore-seed", **SEED) == 7
    assert "NOT installed (status 7)" in machine.said


def test_the_network_is_tried_again(machine: Machine) -> None:
    machine.add("nmstatectl", '[ "$(grep -c nmstatectl "$CALLS")" -ge 2 ]')
    assert machine.run("apply-network") == 0
    assert "try 1 of 3" in machine.said
    machine.add("nmstatectl", "exit 1")
    assert machine.run("apply-network") == 1
    assert "was NOT applied" in machine.said


def test_a_network_that_hangs_is_given_up_before_systemd_does(machine: Machine) -> None:
    machine.add("nmstatectl", "exec sleep 60")
    assert machine.run("apply-network", TRIES="2", APPLY_S="0.2") == 1
    assert "was NOT applied" in machine.said
    script = load_script("apply-network").decode()
    numbers = re.findall(r"^\w+=(?:\$\{\w+:-)?(\d+)\}?$", script, re.MULTILINE)
    tries, pause_s, apply_s, kill_s = map(int, numbers)
    site, _ = check_folder(Directory(EXAMPLE.parent / "image-based-installation"), Environment())
    plan = replace(resolve_installation(site), network={"interfaces": []})
    units = {unit.name: unit.contents for unit in build_installation_ignition(plan).units}
    limit = re.search(r"^TimeoutStartSec=(\d+)$", units["network-config.service"], re.MULTILINE)
    assert limit is not None
    assert tries * (apply_s + kill_s + pause_s) < int(limit[1])


def test_what_is_said_stands_above_the_login_prompt(machine: Machine, tmp_path: Path) -> None:
    assert machine.run("say", ISSUE_DIR=str(tmp_path / "issue.d"), TEXT="Copying the seed") == 0
    assert "Z  Copying the seed\n" in (tmp_path / "issue.d/70-muster.issue").read_text()
