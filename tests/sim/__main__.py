# SPDX-License-Identifier: Apache-2.0
"""`make sim`: plays many installations with random troubles; says which seeds did not hold, and why.

python -m tests.sim [--count N] [--first N] [--seed N]
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
import traceback
from collections import Counter

from tests.sim.trial import Result, play


def play_safely(seed: int) -> Result:
    """A trial; one that ends in an exception did not hold."""
    try:
        return play(seed)
    except Exception:  # noqa: BLE001 - whatever it is, the seed is told
        return Result(seed, "exception", "", 0.0, "", (traceback.format_exc(),))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="how many installations")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first")
    parser.add_argument("--seed", type=int, help="only this one, in detail")
    wanted = parser.parse_args()
    if wanted.seed is not None:
        return _one(wanted.seed)
    started = time.monotonic()
    outcomes: Counter[str] = Counter()
    failed: list[Result] = []
    with multiprocessing.Pool() as pool:
        seeds = range(wanted.first, wanted.first + wanted.count)
        for result in pool.imap_unordered(play_safely, seeds, chunksize=4):
            outcomes[result.outcome] += 1
            if result.broken:
                failed.append(result)
                _say(f"seed {result.seed} does not hold ({result.outcome}, {result.status}):")
                for line in result.broken:
                    _say(f"  {line}")
                _say(f"  again: python -m tests.sim --seed {result.seed}")
    spread = ", ".join(f"{count} {name}" for name, count in sorted(outcomes.items()))
    seconds = time.monotonic() - started
    _say(f"{wanted.count} installations in {seconds:.0f} s: {spread}; {len(failed)} do not hold")
    return 1 if failed else 0


def _one(seed: int) -> int:
    result = play(seed)
    _say(f"seed {seed}: {result.outcome}, {result.status}, after {result.seconds:.0f} s")
    _say(f"log {result.digest}")
    for trouble in result.troubles:
        _say(f"  {trouble}")
    for line in result.broken:
        _say(f"does not hold: {line}")
    return 1 if result.broken else 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
