# SPDX-License-Identifier: Apache-2.0
"""How much CPU and memory a configuration ISO of a fleet takes, against making each site by itself.

    python benchmarks/config_images.py [ROWS]

Baselines: `muster image-based create config-image`, run once per site, measured in the same run; and
`openshift-install image-based create config-image`, 0.47 s of CPU per site, as it was measured elsewhere.
CPU is user and system time of all processes. What waiting for the disk takes is not in it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
from tests.fleets import EXAMPLE, make_table, make_template  # noqa: E402

TODAY_S = 0.47
ALONE = 5
SMALL = 1_000
RUN = [sys.executable, "-m", "muster.cli", "image-based", "create"]


@dataclass(frozen=True)
class Cost:
    """What a command and its workers used up."""

    cpu_s: float
    peak_mib: float


def measure(argv: list[str]) -> Cost:
    """Run a command; the memory is that of its largest process."""
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{argv} failed with {process.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def fleet(scratch: Path, rows: int) -> Cost:
    """Make so many sites with one command."""
    table, out = make_table(scratch / f"{rows}.csv", rows), scratch / f"out-{rows}"
    command = [*RUN, "config-images", "--dir", str(scratch / "template"), "--sites", str(table)]
    cost = measure([*command, "--out", str(out)])
    made = sum(1 for _ in out.glob("*/imagebasedconfig.iso"))
    if made != rows:
        raise SystemExit(f"{made} of {rows} sites were made")
    return cost


def again(scratch: Path, rows: int) -> Cost:
    """The same once more, with nothing changed."""
    command = [
        *RUN,
        "config-images",
        "--dir",
        str(scratch / "template"),
        "--out",
        str(scratch / f"out-{rows}"),
    ]
    return measure([*command, "--sites", str(scratch / f"{rows}.csv")])


def alone(scratch: Path) -> float:
    """The CPU of one site by itself."""
    costs = []
    for index in range(ALONE):
        site = Path(shutil.copytree(EXAMPLE, scratch / f"alone-{index}"))
        costs.append(measure([*RUN, "config-image", "--dir", str(site)]).cpu_s)
    return sum(costs) / len(costs)


def main() -> None:
    """Print all figures."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        make_template(scratch / "template")
        small, large = fleet(scratch, SMALL), fleet(scratch, rows)
        rerun, single = again(scratch, rows), alone(scratch)
    each_ms = large.cpu_s / rows * 1000
    table = [
        (f"CPU per site, {rows:,} sites", f"{each_ms:.1f} ms", "at most 10 ms"),
        (
            f"CPU per site, {SMALL:,} sites",
            f"{small.cpu_s / SMALL * 1000:.1f} ms",
            "with the start of the program",
        ),
        ("CPU per site that did not change", f"{rerun.cpu_s / rows * 1000:.2f} ms", ""),
        ("one site by itself", f"{single * 1000:.0f} ms", "a baseline"),
        ("ratio to that", f"1/{single * 1000 / each_ms:.0f}", ""),
        ("today's tool, one site", f"{TODAY_S * 1000:.0f} ms", "a stated baseline"),
        ("ratio to that", f"1/{TODAY_S * 1000 / each_ms:.0f}", "at most 1/40"),
        (f"peak memory, {SMALL:,} sites", f"{small.peak_mib:.0f} MiB", ""),
        (f"peak memory, {rows:,} sites", f"{large.peak_mib:.0f} MiB", "at most 1.5 times that"),
    ]
    for label, figure, bar in table:
        print(f"{label:<34}{figure:>12}   {bar}")


if __name__ == "__main__":
    main()
