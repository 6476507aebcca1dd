# SPDX-License-Identifier: Apache-2.0
"""How long `muster serve` takes for what people wait for, and what it takes of the machine meanwhile.

    python benchmarks/service_scenes.py [--hosts 3,100,200] [--many 1000]

Modelled hosts that answer at once talk to it over TLS, each over a connection of its own, so that the time
that passes is that of the service and of this client. Beside the figures stand those of a service in Go that
speaks the same interface, as measured elsewhere on a machine like this one.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

from fleet import Agent, Fleet, Person, open_person
from serving import Server, loop_cpu_of, measure, rss_of, run, start_muster

KNOWN_TO_BEAT_S = {3: "7.4 s", 100: "14-19 s"}
INSTALL_TO_BEAT_S = {3: "28 s", 100: "65 s"}
IDLE_S = 20


def tell(name: str, figure: str, goal: str = "", beaten: str = "") -> None:
    """Print one figure."""
    notes = [goal and f"goal {goal}", beaten and f"to beat {beaten}"]
    print(f"  {name:<48}{figure:>14}   {', '.join(filter(None, notes))}".rstrip(), flush=True)


class Watch:
    """CPU and wall time since a moment."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._cpu, self.began = server.cpu_s, time.monotonic()

    @property
    def cpu_s(self) -> float:
        return self._server.cpu_s - self._cpu

    @property
    def wall_s(self) -> float:
        return time.monotonic() - self.began


async def discover(fleet: Fleet, person: Person, count: int) -> None:
    """From nothing to hosts that are all known."""
    server, watch = fleet.server, Watch(fleet.server)
    await fleet.all(Agent.register)
    tell(f"{count} hosts register at once", f"{watch.wall_s:.2f} s", "all served")
    tell("  of it CPU for one", f"{watch.cpu_s / count * 1e3:.2f} ms")
    watch = Watch(server)
    found: list[float] = []

    async def is_ready() -> bool:
        if not found and await person.status(fleet.cluster_id) == "ready":
            found.extend((time.monotonic(), watch.cpu_s))
        return bool(found)

    await fleet.live(is_ready)
    ready, cpu = found
    said = fleet.answered_at
    replies = sum(fleet.answers.values())
    tell("from there to all of them known", f"{ready - watch.began:.2f} s")
    tell(f"  of it CPU, for {replies} replies", f"{cpu:.2f} s", "1 s at 200" if count == 200 else "")
    late = max(0.0, ready - max(moment for moment in said.values() if moment <= ready))
    tell("last reply to all of them known", f"{late:.3f} s", "1 s", KNOWN_TO_BEAT_S.get(count, ""))


async def join_late(fleet: Fleet, late: Agent, person: Person) -> None:
    """The last host comes when all others are known: all of them are asked about it."""
    watch = Watch(fleet.server)
    await late.register()
    fleet.agents.append(late)
    total, found = len(fleet.agents), list[float]()

    async def is_known() -> bool:
        cluster = await person.ask("GET", f"/clusters/{fleet.cluster_id}?exclude-hosts=true")
        if not found and cluster["ready_host_count"] == total and cluster["status"] == "ready":
            found.extend((watch.wall_s, watch.cpu_s))
        return bool(found)

    await fleet.live(is_known)
    tell("one host more, until it is known", f"{found[0]:.2f} s")
    tell("  of it CPU", f"{found[1]:.2f} s", "1 s at 200")


async def install(fleet: Fleet, person: Person, count: int) -> None:
    """From the click to the first and the last step that installs."""
    watch = Watch(fleet.server)
    asked = asyncio.ensure_future(person.ask("POST", f"/clusters/{fleet.cluster_id}/actions/install"))

    cpu = list[float]()
    before = loop_cpu_of(fleet.server.pid)

    async def are_told() -> bool:
        if fleet.installing and not cpu:
            cpu.extend((watch.cpu_s, loop_cpu_of(fleet.server.pid) - before))
        return len(fleet.installing) == count

    await fleet.live(are_told)
    await asked
    first, last = min(fleet.installing.values()), max(fleet.installing.values())
    goal = "1 s" if count != 200 else "0.2 s after the hosts' checks"
    tell(
        "install to the first install step",
        f"{first - watch.began:.2f} s",
        goal,
        INSTALL_TO_BEAT_S.get(count, ""),
    )
    tell("  of it CPU", f"{cpu[0]:.2f} s")
    tell("    of the requests and what follows from them", f"{cpu[1]:.2f} s")
    tell("    of all hosts' files, and of writing", f"{cpu[0] - cpu[1]:.2f} s")
    checked = max(fleet.answered_at.get(name, 0.0) for name in LAST_CHECKS)
    tell("  of it after the last check was answered", f"{max(0.0, first - checked):.3f} s", "0.2 s")
    tell("install to the last install step", f"{last - watch.began:.2f} s")


LAST_CHECKS = ("installation-disk-speed-check", "container-image-availability")


async def idle(fleet: Fleet, count: int) -> None:
    """Hosts that wait for instructions, and get none."""
    for agent in fleet.agents:
        await agent.turn()
    polls = [asyncio.ensure_future(agent.turn(60)) for agent in fleet.agents]
    await asyncio.sleep(2)
    watch = Watch(fleet.server)
    await asyncio.sleep(IDLE_S)
    tell(f"idle with {count} hosts that wait", f"{100 * watch.cpu_s / watch.wall_s:.2f} %", "2 %", "70 %")
    for poll in polls:
        poll.cancel()
    await asyncio.gather(*polls, return_exceptions=True)
    fleet.close()


async def whole(server: Server, count: int) -> None:
    """All scenes with so many hosts, one after the other."""
    print(f"{count} hosts")
    person = await open_person(server)
    fleet = Fleet(server, await person.make_cluster(f"c{count}", count + 1), count + 1)
    late = fleet.agents.pop()
    before = rss_of(server.pid)
    await discover(fleet, person, count)
    tell(
        "memory for one host, when all came at once", f"{(rss_of(server.pid) - before) / count / 1e3:.0f} KB"
    )
    await idle(fleet, count)
    await join_late(fleet, late, person)
    await install(fleet, person, count + 1)


async def register_many(server: Server, count: int) -> None:
    """So many hosts that register at the same moment, and report what they are."""
    person = await open_person(server)
    fleet = Fleet(server, await person.make_cluster("many", count), count)
    before, watch = rss_of(server.pid), Watch(server)
    await fleet.all(Agent.register)
    tell("all of them register at once", f"{watch.wall_s:.2f} s", "all served", "hangs at 100")
    tell("  of it CPU for one", f"{watch.cpu_s / count * 1e3:.2f} ms")
    watch = Watch(server)
    await fleet.all(Agent.turn)
    tell("all report their inventory", f"{watch.wall_s:.2f} s")
    tell("  of it CPU for one", f"{watch.cpu_s / count * 1e3:.2f} ms")
    reports = [agent.reply_connectivity(fleet).render() for agent in fleet.agents]
    cost = await measure(server, reports, 16)
    tell("all report on all their peers, CPU for one", f"{cost.cpu_s * 1e3:.2f} ms")
    tell(
        "memory for one host, when all came at once", f"{(rss_of(server.pid) - before) / count / 1e3:.0f} KB"
    )
    tell("states of all hosts", str(sorted(await person.statuses(fleet.infra_env_id))))
    fleet.close()


def remember(place: Path, count: int) -> None:
    """What a service that is started again needs for each host, beyond one that knows none."""
    with tempfile.TemporaryDirectory() as empty, start_muster(Path(empty)) as server:
        before = rss_of(server.pid)
    with start_muster(place) as server:
        tell("memory for one host", f"{(rss_of(server.pid) - before) / count / 1e3:.0f} KB", "60 KB")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", default="3,100,200", help="how many hosts the clusters have")
    parser.add_argument("--many", default=1000, type=int, help="how many hosts register at once; 0: none")
    asked = parser.parse_args()
    counts = [int(word) for word in asked.hosts.split(",") if word]
    with tempfile.TemporaryDirectory() as folder:
        for number, count in enumerate((*counts, *([asked.many] if asked.many else ()))):
            place = Path(folder) / str(number)
            place.mkdir()
            with start_muster(place) as server:
                if number < len(counts):
                    run(whole(server, count))
                else:
                    print(f"{count} hosts")
                    run(register_many(server, count))
            remember(place, count)


if __name__ == "__main__":
    main()
