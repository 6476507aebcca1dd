# SPDX-License-Identifier: Apache-2.0
"""`make fuzz`: mutates valid sites many times; none may end in a traceback, and repairs must hold.

python tests/fuzz.py [COUNT] [SEED]
"""

from __future__ import annotations

import random
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.mutations import folder_of, load_examples, mutate
from tests.properties import check_properties


def main(count: int, seed: int) -> int:
    """Try so many mutations; the number of failures is the exit status."""
    sites = load_examples()
    failures = 0
    started = time.monotonic()
    for number in range(count):
        rng = random.Random(f"{seed}:{number}")
        name = rng.choice(sorted(sites))
        files = mutate(sites[name], rng)
        try:
            check_properties(folder_of(files))
        except Exception:
            failures += 1
            print(f"\nfailed: site {name}, seed {seed}:{number}", file=sys.stderr)
            traceback.print_exc()
            if failures >= 5:
                break
        if number % 500 == 499:
            rate = (number + 1) / (time.monotonic() - started)
            print(f"\r{number + 1}/{count} mutations, {rate:.0f}/s ", end="", file=sys.stderr, flush=True)
    print(f"\n{count} mutations tried, {failures} failed", file=sys.stderr)
    return min(failures, 1)


if __name__ == "__main__":
    arguments = [int(word) for word in sys.argv[1:]]
    sys.exit(main(*(arguments + [100_000, 1][len(arguments) :])))
