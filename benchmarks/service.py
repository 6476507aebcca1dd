# SPDX-License-Identifier: Apache-2.0
"""What the requests of hosts cost `muster serve`, against a service that does the same and a bare endpoint.

    python benchmarks/service.py [--hosts 10,200] [--database sqlite|postgresql|both]

The server is a process of its own and is talked to over TLS. Every figure is the least of several rounds,
taken in turns: milliseconds of CPU (of the server, and of its database) and of wall time for one request.

Baselines: a service in Go with PostgreSQL that speaks the same interface, as measured elsewhere on a machine
like this one at 200 hosts, without its background loops; and a Starlette endpoint on uvicorn in the same run
that decodes the same body with the same decoder and answers 204. Goals: at most half of the former on SQLite,
no more than it on PostgreSQL; replies at least at a quarter of the rate of the latter; and with 1,000 hosts
at most twice what 10 cost. A report on connectivity tells of all peers, up to the 199 of that comparison; one
as the service asks for them tells of the few that it asks for at a time.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.postgres import start_postgres

from fleet import Agent, Fleet, Person, open_person
from muster.model.wire.reports import StepReply
from muster.service.steps.peers import FAN_OUT
from serving import Cost, Server, measure, run, start_bare, start_muster

ROUNDS = 5
TO_BEAT_MS = {"poll": 5.7, "inventory, the same": 2.5, "inventory, changed": 2.5}
TO_BEAT_MS |= {"connectivity, the same": 5.9, "connectivity, changed": 5.9}
"""CPU of the service in Go and of its database."""
MOST_PEERS = 199
AS_ASKED = "as asked"
KINDS = (*TO_BEAT_MS, f"{AS_ASKED}, the same", f"{AS_ASKED}, changed")
"""The last are reports on as many peers as the service asks for."""
PAIRS = ("inventory", "connectivity", AS_ASKED)
AT_ONCE = 16
BARE = "bare endpoint"
NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
SHARES = {"SQLite": 0.5, "PostgreSQL": 1.0}
"""Of what is to be beaten."""


class Questions:
    """The requests of a fleet; those that change something change it each time."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._sample = fleet.agents[:200]
        self.peers = {"connectivity": self._peers(MOST_PEERS), AS_ASKED: self._peers(FAN_OUT)}
        self._reports = {
            (name, agent.host.id): fleet.connectivity(agent, count)
            for name, count in self.peers.items()
            for agent in self._sample
        }
        self._turn = itertools.count()

    def _peers(self, most: int) -> int:
        return min(most, len(self._fleet.agents) - 1)

    def make(self) -> dict[str, list[bytes]]:
        """One round of each kind, for a few hundred hosts at most."""
        again = max(1, 400 // len(self._sample))
        found: dict[str, list[bytes]] = {name: [] for name in KINDS}
        for _ in range(again):
            turn = next(self._turn)
            for agent in self._sample:
                found["poll"].append(agent.poll().render())
                found["inventory, the same"].append(_inventory(agent, 0))
                found["inventory, changed"].append(_inventory(agent, turn % 2 + 1))
                for name in self.peers:
                    found[f"{name}, the same"].append(self._connectivity(name, agent, turn, 0))
                    found[f"{name}, changed"].append(self._connectivity(name, agent, turn, turn % 2 + 1))
        return found

    def _connectivity(self, name: str, agent: Agent, turn: int, silent: int) -> bytes:
        """The noise is in the times that peers took to answer."""
        text = self._reports[name, agent.host.id].replace('_rtt_ms":0.', f'_rtt_ms":0.{turn % 7 + 1}')
        well, broken = '"successful":true,"average', '"successful":false,"average'
        if silent:
            text = text.replace(well, broken, silent).replace(broken, well, silent - 1)
        return agent.reply(StepReply(step_type="connectivity-check", output=text)).render()


def _inventory(agent: Agent, change: int) -> bytes:
    body = json.loads(agent.host.body.inventory(time.time()))
    body["memory"]["usable_bytes"] -= change << 20
    return agent.reply(StepReply(step_type="inventory", output=json.dumps(body))).render()


async def settle(fleet: Fleet, person: Person) -> None:
    """Have all hosts known, and nothing left to do."""
    await fleet.all(Agent.register)

    async def is_ready() -> bool:
        return await person.status(fleet.cluster_id) == "ready"

    await fleet.live(is_ready)
    while True:
        done = [await agent.turn() for agent in fleet.agents]
        if not any(done):
            break
    fleet.close()


async def begin(fleet: Fleet, person: Person) -> None:
    """Start the installation, and have all hosts told to install."""
    await person.ask("POST", f"/clusters/{fleet.cluster_id}/actions/install")

    async def is_installing() -> bool:
        return await person.statuses(fleet.infra_env_id) == {"installing"}

    await fleet.live(is_installing)
    for agent in fleet.agents:
        await agent.turn()
        await agent.send(agent.progress("Starting installation"))
        await agent.send(agent.progress("Installing"))
    fleet.close()


def progress(fleet: Fleet, turn: int) -> list[bytes]:
    stage = "Writing image to disk"
    return [agent.progress(stage, f"{turn + 1}%").render() for agent in fleet.agents[:200]]


Figures = dict[str, list[Cost]]


async def measure_all(server: Server, bare: Server, count: int) -> Figures:
    """All kinds of requests with so many hosts."""
    person = await open_person(server)
    fleet = Fleet(server, await person.make_cluster(f"c{count}", count), count)
    await settle(fleet, person)
    questions, found = Questions(fleet), Figures()
    for _ in range(ROUNDS):
        made = questions.make()
        for name, requests in made.items():
            if name.endswith("the same"):  # It is what was said last, whatever was measured before.
                await measure(server, requests, AT_ONCE)
            found.setdefault(name, []).append(await measure(server, requests, AT_ONCE))
        for name in PAIRS:  # What changed is mended.
            await measure(server, made[f"{name}, the same"], AT_ONCE)
        for name in PAIRS:
            cost = await measure(bare, made[f"{name}, the same"], AT_ONCE)
            found.setdefault(f"{BARE}, {name}", []).append(cost)
    await begin(fleet, person)
    for turn in range(ROUNDS):
        found.setdefault("progress", []).append(await measure(server, progress(fleet, turn), AT_ONCE))
    return found


def least(costs: Sequence[Cost]) -> Cost:
    return Cost(min(each.cpu_s for each in costs), min(each.wall_s for each in costs))


def tell(title: str, found: Figures, *, share: float) -> None:
    """Print figures, and how they stand to the baselines."""
    print(title)
    for name, costs in found.items():
        cost = least(costs)
        words = [f"  {name:<28}{cost.cpu_s * 1e3:>8.3f} ms CPU{cost.wall_s * 1e3:>8.3f} ms wall"]
        if name in TO_BEAT_MS:
            words.append(f"{cost.cpu_s * 1e3 / TO_BEAT_MS[name]:>7.2f} of {TO_BEAT_MS[name]} ms")
            words.append(f"(at most {share:.2f})")
        kind = f"{BARE}, {name.split(',')[0]}"
        if kind in found and kind != name:
            words.append(f"{least(found[kind]).cpu_s / cost.cpu_s:>7.2f} of the bare endpoint's rate")
        print(" ".join(words), flush=True)


@contextlib.contextmanager
def database(name: str) -> Iterator[tuple[str, int]]:
    """The URL and the process of a new database; SQLite has neither."""
    if name == "SQLite":
        yield "", 0
        return
    with start_postgres() as server:
        with server.ask("postgres") as connection:
            connection.execute("ALTER SYSTEM SET fsync = on")
            connection.execute("SELECT pg_reload_conf()")
        pid = int((server.folder / "data" / "postmaster.pid").read_text().split()[0])
        yield server.url(server.create()), pid


def measure_service(name: str, count: int) -> Figures:
    """All figures of a service that knows nothing else."""
    with tempfile.TemporaryDirectory() as folder, database(name) as (url, pid):
        place = Path(folder)
        with start_muster(place, url, pid) as server, start_bare(place / "data") as bare:
            found: Figures = run(measure_all(server, bare, count))
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", default="10,200", help="how many hosts the clusters have")
    parser.add_argument("--database", default="both", choices=("sqlite", "postgresql", "both"))
    asked = parser.parse_args()
    counts = [int(word) for word in asked.hosts.split(",")]
    names = ("SQLite", "PostgreSQL") if asked.database == "both" else (NAMES[asked.database],)
    for name in names:
        figures = {}
        for count in counts:
            figures[count] = measure_service(name, count)
            tell(f"{name}, {count} hosts", figures[count], share=SHARES[name])
        if len(counts) > 1:
            compare(figures[counts[0]], figures[counts[-1]], (counts[0], counts[-1]))


def compare(few: Figures, many: Figures, counts: tuple[int, int]) -> None:
    """How the cost of a request grows with the cluster; a report on more peers grows by itself."""
    print(f"{counts[1]} hosts / {counts[0]} hosts (at most 2)")
    for name in few:
        if name.startswith(BARE):
            continue
        ratio = least(many[name]).cpu_s / least(few[name]).cpu_s
        words = f"  {name:<28}{ratio:>8.2f}"
        most = {"connectivity": MOST_PEERS, AS_ASKED: FAN_OUT}.get(name.split(",")[0])
        if most is not None:
            one, other = (min(most, count - 1) for count in counts)
            words += f"   {ratio * one / other:.2f} for each peer ({other} and {one} of them)"
        print(words)


if __name__ == "__main__":
    main()
