# SPDX-License-Identifier: Apache-2.0
"""Hosts of a site without time servers agree: real chronyds, which cannot set the clock of this machine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from ipaddress import ip_address, ip_network
from pathlib import Path

from muster.chrony import REST, find_server, tell_time
from muster.model.host import Role
from muster.release.node.clock import render_chrony
from muster.release.node.cluster import Member
from muster.run import Argument, Said, ask
from tests.clusters import THREE
from tests.component.agent_steps.site import Site
from tests.component.agent_steps.test_services import Clock

NETWORK = ip_network("10.9.0.0/24")


class Inside:
    """The machine that a chronyd runs on."""

    root = Path("/")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def ask(self, argv: Sequence[Argument], *, deadline_s: float, feed: str = "") -> Said:
        return await ask([*self._clock.inside, *argv], deadline_s=deadline_s, feed=feed)


def followed(clock: Clock) -> str:
    """Whom a chronyd follows, as soon as it does."""
    deadline = time.monotonic() + 60
    while not (found := asyncio.run(find_server(Inside(clock), 9))):
        assert time.monotonic() < deadline
    return found


def make(site: Site, address: str, folder: Path, config: str = "") -> Clock:
    folder.mkdir()
    return Clock(site.add(address), folder, config)


def test_the_rendezvous_host_tells_the_time_to_its_networks(site: Site, tmp_path: Path) -> None:
    server = make(site, "10.9.0.1/24", tmp_path / "server")
    client = make(site, "10.9.0.2/24", tmp_path / "client")
    assert asyncio.run(find_server(Inside(server))) == ""
    assert asyncio.run(tell_time(Inside(server), (str(NETWORK),))) == ""
    assert asyncio.run(find_server(Inside(server))) == ""  # It has only its own clock, and follows nobody.
    client.do("10.9.0.1")
    assert followed(client) == "10.9.0.1"


def test_nodes_agree_without_a_server(site: Site, tmp_path: Path) -> None:
    members = tuple(
        Member(f"n{number}", (ip_address(f"10.9.0.{number}"),), Role.MASTER if number < 3 else Role.WORKER)
        for number in (1, 2, 3)
    )
    cluster = replace(THREE, members=members, machines=(NETWORK,))
    clocks = [
        make(
            site,
            f"{member.addresses[0]}/24",
            tmp_path / member.name,
            render_chrony(cluster, member).replace(REST, ""),
        )
        for member in members
    ]
    # The one with the smallest address is followed by all.
    assert followed(clocks[1]) == "10.9.0.1"
    assert followed(clocks[2]) in ("10.9.0.1", "10.9.0.2")
    assert asyncio.run(find_server(Inside(clocks[0]))) == ""
