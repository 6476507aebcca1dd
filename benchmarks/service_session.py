# SPDX-License-Identifier: Apache-2.0
"""A whole installation by `aicli` from PyPI and many modelled hosts, against `muster serve` over TLS.

    python benchmarks/service_session.py [--hosts 200]

On SQLite and on PostgreSQL. What the hosts do takes a thousandth of its time, so that what is left is the
service, the client and the hosts' models on the same cores. CPU is that of the service without its database.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.component.service.processes import Served, served
from tests.component.service.session import spend_a_day
from tests.postgres import start_postgres

from serving import cpu_of


async def measure(folder: Path, service: Served, count: int) -> None:
    """One installation; each part with the wall time and the CPU since the start."""
    await service.up()
    assert service.process is not None
    pid, began = service.process.pid, time.monotonic()

    def tell(what: str) -> None:
        print(f"  {what:<24}{time.monotonic() - began:>8.1f} s wall{cpu_of(pid):>8.1f} s CPU", flush=True)

    done = await spend_a_day(folder, service, count, tell)
    states = {host["status"] for host in done["hosts"]}
    if (done["status"], states, len(done["hosts"])) != ("installed", {"installed"}, count):
        raise SystemExit(f"the cluster is {done['status']}, its {len(done['hosts'])} hosts are {states}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", default=200, type=int, help="how many hosts the cluster has")
    count = parser.parse_args().hosts
    with start_postgres() as postgres:
        urls = {"SQLite": (), "PostgreSQL": ("--database", postgres.url(postgres.create()))}
        for name, options in urls.items():
            print(f"{name}, {count} hosts")
            with tempfile.TemporaryDirectory() as folder, served(Path(folder), *options) as service:
                asyncio.run(measure(Path(folder), service, count))
                service.end()


if __name__ == "__main__":
    main()
