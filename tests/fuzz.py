# SPDX-License-Identifier: Apache-2.0
"""`make fuzz`: broken input of many kinds; none may end in a traceback, and repairs must hold.

python tests/fuzz.py [COUNT] [SEED]
"""

from __future__ import annotations

import random
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.fuzz_cases import KINDS


def main(count: int, seed: int) -> int:
    """Try so many cases; 1 when one failed."""
    spent: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    failures = 0
    started = time.monotonic()
    for number in range(count):
        rng = random.Random(f"{seed}:{number}")
        ((name, check, _),) = rng.choices(KINDS, weights=[weight for *_, weight in KINDS])
        begun = time.monotonic()
        try:
            check(rng)
        except Exception:
            failures += 1
            print(f"\nfailed: {name}, seed {seed}:{number}", file=sys.stderr)
            traceback.print_exc()
            if failures >= 5:
                break
        tried[name] += 1
        spent[name] += int((time.monotonic() - begun) * 1e6)
        if number % 500 == 499:
            rate = (number + 1) / (time.monotonic() - started)
            print(f"\r{number + 1}/{count} cases, {rate:.0f}/s ", end="", file=sys.stderr, flush=True)
    shown = ", ".join(f"{tried[name]} {name} in {spent[name] / 1e6:.0f} s" for name, *_ in KINDS)
    print(f"\n{tried.total()} cases tried ({shown}), {failures} failed", file=sys.stderr)
    return min(failures, 1)


if __name__ == "__main__":
    arguments = [int(word) for word in sys.argv[1:]]
    sys.exit(main(*(arguments + [100_000, 1][len(arguments) :])))
