# SPDX-License-Identifier: Apache-2.0
"""How many decisions the service makes durable in a second, against plain files on the same disk.

    python benchmarks/service_store.py [FOLDER [URL]]

Each decision changes a host of 12 kB in a cluster of 200, and is answered when it is on the disk. Baselines,
with the same bytes in the same run: a file to which one decision is appended and synced after the other, and
one with group commit, to which everything that waits is appended and synced at once. FOLDER is where files
go: the disk decides. URL is a PostgreSQL to measure, too. Each figure is the best of several runs, in turns.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeAlias

import uvloop

from muster.model.wire.inventory import Disk, Interface, Inventory
from muster.service.committer import Committer
from muster.service.realm import Draft, Realm
from muster.service.state import Cluster, Host
from muster.service.store.memory import MemoryStore
from muster.service.store.open import open_store
from muster.service.store.port import Change, Store, encode

RUNS = 3
SECONDS = 1.5
HOSTS = 200
WRITERS = (1, 16, 64)
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
Open: TypeAlias = Callable[[], Store]


class PlainFile(MemoryStore):
    """What the disk alone allows: the same bytes, at the end of one file, synced once for each commit."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = path.open("ab", buffering=0)

    def commit(self, changes: Sequence[Change]) -> None:
        bodies = [encode(each) for change in changes for each in change.events]
        bodies += [encode(row) for change in changes for row in change.rows.values() if row is not None]
        self._file.write(b"\n".join(bodies))
        os.fdatasync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


def make_host(number: int) -> Host:
    disks = tuple(
        Disk(
            id=f"/dev/disk/by-id/wwn-0x5000c500{number:04x}{disk:04x}",
            name=f"sd{disk}",
            path=f"/dev/sd{disk}",
            model="EXAMPLE-960",
            serial=f"S{number:06}{disk:03}",
            size_bytes=960_197_124_096,
            smart="x" * 1000,
        )
        for disk in range(8)
    )
    cards = tuple(
        Interface(name=f"eno{card}", mac_address=f"52:54:00:00:{number:02x}:{card:02x}", mtu=1500)
        for card in range(8)
    )
    return Host(
        id=f"00000000-0000-0000-0000-{number:012}",
        infra_env_id="i",
        status="known",
        status_updated_at=NOW,
        created_at=NOW,
        registered_at=NOW,
        updated_at=NOW,
        inventory=Inventory(disks=disks, interfaces=cards),
    )


def decide(realm: Realm, decision: Callable[[Draft], None]) -> Change:
    draft = Draft(realm, NOW)
    decision(draft)
    draft.apply()
    realm.version += 1
    return Change(realm.id, realm.version, tuple(draft.events), draft.touched(), draft.documents)


def begin(draft: Draft) -> None:
    cluster = Cluster(id="c", name="c", status="ready", status_updated_at=NOW, created_at=NOW, updated_at=NOW)
    draft.add(cluster)
    for number in range(HOSTS):
        draft.add(make_host(number))


def change(id: str, number: int, draft: Draft) -> None:
    draft.change(draft.hosts[id], status_info=f"it is fine for the {number}th time", updated_at=NOW)


@dataclass(frozen=True)
class Rate:
    """What was reached."""

    per_second: float
    cpu_ms: float
    """Of this process, for each decision."""


async def measure(store: Store, writers: int) -> Rate:
    realm = Realm(f"c{time.monotonic_ns()}")
    committer = Committer(store)
    await committer.commit([decide(realm, begin)])
    ids = list(realm.hosts)
    over = time.monotonic() + SECONDS
    done = 0

    async def write(who: int) -> None:
        nonlocal done
        while time.monotonic() < over:
            done += 1
            await committer.commit([decide(realm, partial(change, ids[(who + done) % HOSTS], done))])

    wall, cpu = time.monotonic(), time.process_time()
    async with asyncio.TaskGroup() as tasks:
        for who in range(writers):
            tasks.create_task(write(who))
    wall, cpu = time.monotonic() - wall, time.process_time() - cpu
    await committer.close()
    return Rate(done / wall, cpu / done * 1e3)


def main() -> None:
    """Print all figures."""
    where = sys.argv[1] if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory(dir=where) as folder:
        scratch = Path(folder)
        stores: dict[str, Open] = {
            "plain file": lambda: PlainFile(scratch / "plain"),
            "SQLite": lambda: open_store(scratch / "sqlite"),
        }
        if len(sys.argv) > 2:
            stores["PostgreSQL"] = lambda: open_store(sys.argv[2])
        found: dict[tuple[str, int], list[Rate]] = {}
        for _ in range(RUNS):
            for writers in WRITERS:
                for name, opening in stores.items():
                    with closing(opening()) as store:
                        found.setdefault((name, writers), []).append(uvloop.run(measure(store, writers)))
    tell(found)


def tell(found: dict[tuple[str, int], list[Rate]]) -> None:
    """Rates, and their ratios to those of the baselines."""
    best = {key: max(rates, key=lambda rate: rate.per_second) for key, rates in found.items()}
    alone = best["plain file", 1].per_second
    print(f"{'':14}{'writers':>8}{'durable/s':>11}{'CPU ms':>8}{'of a sync each':>16}{'of group commit':>17}")
    for (name, writers), rate in best.items():
        group = best["plain file", writers].per_second
        print(
            f"{name:<14}{writers:>8}{rate.per_second:>11.0f}{rate.cpu_ms:>8.2f}"
            f"{rate.per_second / alone:>16.2f}{rate.per_second / group:>17.2f}"
        )


if __name__ == "__main__":
    main()
