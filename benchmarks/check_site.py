# SPDX-License-Identifier: Apache-2.0
"""How much CPU and memory `muster check` takes, against PyYAML's C loader on the same files.

    python benchmarks/check_site.py

Baseline: a Python process that only does `yaml.load(..., Loader=yaml.CSafeLoader)` on the site's files.
Each figure is the least of several runs: the least disturbed by whatever else the machine does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from sites import generate_site

RUNS = 5
BASELINE = "import sys, yaml\nfor name in sys.argv[1:]: yaml.load(open(name), Loader=yaml.CSafeLoader)"


@dataclass(frozen=True)
class Cost:
    """What a process used up."""

    cpu_s: float
    peak_mib: float


def measure(argv: list[str]) -> Cost:
    """The least that a command takes."""
    return min((_run(argv) for _ in range(RUNS)), key=lambda cost: cost.cpu_s)


def _run(argv: list[str]) -> Cost:
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{argv} failed with {process.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def check(site: Path) -> Cost:
    return measure([sys.executable, "-m", "muster.cli", "check", "--dir", str(site)])


def parse(site: Path) -> Cost:
    return measure([sys.executable, "-c", BASELINE, *map(str, site.glob("*.yaml"))])


def main() -> None:
    """Print all figures."""
    with tempfile.TemporaryDirectory() as scratch:
        sites = {count: Path(scratch) / str(count) for count in (3, 50, 500)}
        for count, site in sites.items():
            generate_site(site, count)
        costs = {count: check(site) for count, site in sites.items()}
        baseline = parse(sites[500])
        start = measure([sys.executable, "-m", "muster.cli", "--help"])
    rows = [
        ("muster --help", f"{start.cpu_s:.2f} s CPU", "at most 0.25 s"),
        ("check, 3 hosts", f"{costs[3].cpu_s:.2f} s CPU", "at most 0.6 s"),
        ("check, 500 hosts", f"{costs[500].cpu_s:.2f} s CPU", ""),
        ("PyYAML C loader, same files", f"{baseline.cpu_s:.2f} s CPU", "the baseline"),
        ("ratio to the baseline", f"{costs[500].cpu_s / baseline.cpu_s:.1f}", "at most 8"),
        ("growth from 50 to 500 hosts", f"{costs[500].cpu_s / costs[50].cpu_s:.1f}", "at most 12"),
        ("peak memory, 500 hosts", f"{costs[500].peak_mib:.0f} MiB", "under 400 MiB"),
    ]
    for name, figure, bar in rows:
        print(f"{name:<30}{figure:>14}   {bar}")


if __name__ == "__main__":
    main()
