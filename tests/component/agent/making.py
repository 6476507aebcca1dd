# SPDX-License-Identifier: Apache-2.0
"""Makes media as users do."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.component.live import Live, coreos_installer
from tests.component.muster import Result, run
from tests.component.test_ignition import validate

EXAMPLES = Path(__file__).parent.parent.parent.parent / "examples"


ISO = "agent.x86_64.iso"


def example(name: str, target: Path) -> Path:
    """A copy of an example, as it was committed."""
    return Path(shutil.copytree(EXAMPLES / name, target, ignore=shutil.ignore_patterns(".*")))


def create(site: Path, live: Live | None, verb: str = "image", *more: str) -> Result:
    base = ["--base-image", str(live.path)] if live else []
    base.append("--release-by-tag")  # No registry is asked.
    return run("agent", "create", verb, "--dir", str(site), *base, *more)


def make(site: Path, live: Live | None, verb: str = "image", *more: str) -> str:
    done = create(site, live, verb, *more)
    assert done.status == 0, done.err
    return done.out


def ignition(iso: Path) -> dict[str, object]:
    data = coreos_installer("iso", "ignition", "show", iso)
    assert validate(data) == ""
    tree: dict[str, object] = json.loads(data)
    return tree
