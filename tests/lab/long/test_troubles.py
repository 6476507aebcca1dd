# SPDX-License-Identifier: Apache-2.0
"""What goes wrong at a site: the host becomes a node all the same, or stops and says why. It never hangs."""

from __future__ import annotations

import json
import sys
import tarfile
import time
from typing import Any

import pytest

from muster.node.boot_order import LABEL, parse_entries
from tests.lab import neighbour
from tests.lab.cluster import Site, Stage, edit_yaml, judge
from tests.lab.following import Follower
from tests.lab.rehearsal import NAME, Rehearsal

_PATIENCE = "90m"
_EXAMPLE, _LEG = "single-node-none", "192.0.2.1"
_TAP = "m0n0"
"""What the lab has at the other end of the first card of its first machine."""


def test_a_hint_that_matches_no_disk_stops(lab: Rehearsal, stage: Stage) -> None:
    """And what is gathered from the host over ssh says so on its first page."""

    def other_disk(body: dict[str, Any]) -> dict[str, Any]:
        host = {**body["hosts"][0], "rootDeviceHints": {"serialNumber": "NOT-HERE"}}
        return {**body, "hosts": [host]}

    def plain_disk(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "machines": [{"name": "node1", "disks": [{"sizeGiB": 60, "serial": "OTHER"}]}]}

    site = stage.build(_EXAMPLE, _LEG, {"agent-config.yaml": other_disk, "lab.yaml": plain_disk})
    lab.up(site.folder)
    follower = lab.follow(site.folder, _PATIENCE)

    follower.until("NOT-HERE")
    assert "Writing image" not in follower.said

    lab.run("exec", "--lab", NAME, "--", sys.executable, neighbour.__file__, _TAP)
    asking = ("agent", "gather", "--dir", site.folder, "--key", site.key, "--output", "json")
    gathered = json.loads(lab.beside(*asking))
    assert "NOT-HERE" in gathered["cause"]["message"]
    with tarfile.open(gathered["archive"]) as archive:
        names = [each.partition("/")[2] for each in archive.getnames()]
        page = archive.extractfile(next(each for each in archive if each.name.endswith("FIRST.txt")))
        assert page is not None
        assert "NOT-HERE" in page.read().decode()
        told = archive.extractfile(
            next(each for each in archive if each.name.endswith("node1/inventory.json"))
        )
        assert told is not None
        extras = json.loads(told.read())["extras"]
    assert {"service/why.json", "hosts/node1/journal.txt", "hosts/node1/inventory.json"} <= {*names}
    assert [each["system_name"] for each in extras["neighbours"]] == [neighbour.NAME]
    assert [each["holds"] for each in extras["disks"] if each["serial"] == "OTHER"] == [
        "without known content"
    ]


@pytest.mark.parametrize("date", ["1970-01-02", "2031-05-05"])
def test_a_wrong_clock_and_a_late_cable(lab: Rehearsal, stage: Stage, date: str) -> None:
    site = stage.build(_EXAMPLE, _LEG)
    lab.up(site.folder, "--cut", f"clock:node1={date}", "--cut", "link:node1/eno1")
    follower = lab.follow(site.folder, _PATIENCE)
    lab.wait("reports:node1:1")
    assert "answers" not in follower.said
    lab.run("heal", "link:node1/eno1")

    _becomes_a_cluster(lab, site, follower)


def test_a_registry_that_is_switched_on_late(lab: Rehearsal, stage: Stage) -> None:
    """The host is fit long before there is something to install: nobody has to start it when there is."""
    site = stage.build(_EXAMPLE, _LEG)
    edit_yaml(site.folder / "lab.yaml", lambda body: {**body, "registryStore": ""})
    lab.up(site.folder)
    follower = lab.follow(site.folder, _PATIENCE)
    follower.until("the release of the site cannot be fetched: ")
    lab.begin("registry", "serve", stage.store, "--listen", ":5000")

    _becomes_a_cluster(lab, site, follower)


def test_programs_that_are_killed_go_on(lab: Rehearsal, stage: Stage) -> None:
    """Each ten times, at moments that only chance knows; and a minute without a network."""
    site = stage.build(_EXAMPLE, _LEG)
    lab.up(site.folder)
    follower = lab.follow(site.folder, _PATIENCE)
    follower.until("answers")
    kill = "for n in 1 2 3 4 5 6 7 8 9 10; do systemctl kill -s KILL {unit}; sleep {pause}; done"
    for unit, pause in (("muster-rendezvous", 7), ("muster-agent", 3)):
        script = kill.format(unit=unit, pause=pause)
        lab.ssh("node1", site.key, "sudo", "systemd-run", "--quiet", "sh", "-c", f"'{script}'")
    follower.until("Writing image to disk")
    lab.run("cut", "link:node1/eno1")
    script = kill.format(unit="muster-install", pause=3)
    time.sleep(60)
    lab.run("heal", "link:node1/eno1")
    lab.ssh("node1", site.key, "sudo", "systemd-run", "--quiet", "sh", "-c", f"'{script}'")

    _becomes_a_cluster(lab, site, follower)


def test_power_that_fails_while_a_disk_is_written(lab: Rehearsal, stage: Stage) -> None:
    """The host is the rendezvous host, too: everything that it knew was in its memory."""
    site = stage.build(_EXAMPLE, _LEG)
    lab.up(site.folder)
    follower = lab.follow(site.folder, _PATIENCE)
    follower.until("Writing image to disk")
    lab.run("kill", "node1")
    lab.run("power", "node1", "on")

    _becomes_a_cluster(lab, site, follower)


def test_power_that_fails_at_the_rendezvous_host_before_it_leaves(lab: Rehearsal, stage: Stage) -> None:
    """Its disk is written, and the others are on theirs: it goes on from there with all that it knew."""
    site = stage.build("compact-baremetal", "192.168.10.1")
    lab.up(site.folder)
    follower = lab.follow(site.folder, _PATIENCE)
    follower.until("master-1: Waiting for control plane")
    for other in ("master-2", "master-3"):
        follower.until(f"{other}: Configuring")
    assert "master-1: Rebooting" not in follower.said
    lab.run("kill", "master-1")
    lab.run("power", "master-1", "on")

    _becomes_a_cluster(lab, site, follower)


def test_a_medium_that_is_ejected(lab: Rehearsal, stage: Stage) -> None:
    """Half of the live system is gone with it. The host says so, and goes on when it has it again."""
    site = stage.build(_EXAMPLE, _LEG)
    lab.up(site.folder)
    follower = lab.follow(site.folder, _PATIENCE)
    follower.until("answers")
    lab.run("media", "node1", "--eject")
    follower.until("can no longer read its boot medium")
    lab.run("media", "node1", next(site.folder.glob("*.iso")))

    _becomes_a_cluster(lab, site, follower)


def test_an_installed_host_that_boots_the_medium_again(lab: Rehearsal, stage: Stage) -> None:
    """UEFI starts from the disk; where somebody has it start from the medium, nothing is erased."""

    def with_uefi(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "firmware": "uefi"}

    site = stage.build(_EXAMPLE, _LEG, {"lab.yaml": with_uefi})
    lab.up(site.folder)
    _becomes_a_cluster(lab, site, lab.follow(site.folder, _PATIENCE))
    entries = parse_entries(lab.ssh("node1", site.key, "sudo", "efibootmgr"))
    assert entries.order[0] in entries.of(LABEL)

    medium = next(number for number, label in entries.labels if "DVD" in label)
    lab.ssh("node1", site.key, "sudo", "efibootmgr", "--quiet", "--bootnext", medium)
    lab.restart("node1", site.key)
    assert lab.wait("serial:node1:is installed on that disk already")["node1"]["root"] == "live"

    lab.restart("node1", site.key)
    assert lab.wait("healthy")["node1"]["root"] == "disk"


def _becomes_a_cluster(lab: Rehearsal, site: Site, follower: Follower) -> None:
    ended = follower.end()
    assert ended.status == 0, ended.out
    judge(lab, site)
    lab.wait("healthy")
