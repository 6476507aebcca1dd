# SPDX-License-Identifier: Apache-2.0
"""What the documentation shows is what happens: every console block is run, and links lead somewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from muster.model.firewall import render_live
from tests import media

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted(
    path
    for path in [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("examples/**/*.md"),
    ]
    if "generate.py" not in path.read_text("utf-8")[:80]
)
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def run_block(block: str, place: Path) -> str:
    """The block with the output that its commands really give."""
    lines = []
    for line in block.splitlines():
        if not line.startswith("$ "):
            continue
        done = subprocess.run(
            ["bash", "-c", line[2:]],
            cwd=place,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "COLUMNS": "100"},
            check=False,
        )
        lines += [line, *done.stdout.rstrip("\n").split("\n")] if done.stdout else [line]
    return "\n".join(lines) + "\n"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone as a reader has it: bin/muster and the examples, and a live ISO."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns(".*"))
    command = tmp_path / "bin" / "muster"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m muster.cli "$@"\n')
    command.chmod(0o755)
    (tmp_path / "live.iso").write_bytes(media.image(media.MODERN))
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_console_blocks(page: Path, clone: Path, request: pytest.FixtureRequest) -> None:
    text = page.read_text("utf-8")
    real = BLOCK.sub(lambda match: f"```console\n{run_block(match[1], clone)}```", text)
    if request.config.getoption("--regen"):
        page.write_text(real, "utf-8")
    assert text == real


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    broken = [link for link in LINK.findall(page.read_text("utf-8")) if not (page.parent / link).exists()]
    assert not broken


def test_the_generated_reference_is_up_to_date() -> None:
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        from generate import HERE, LIVE_RULES, pages  # type: ignore[import-not-found]
    finally:
        sys.path.pop(0)
    stale = [name for name, text in pages().items() if not _same(HERE / name, text)]
    stale += [] if _same(LIVE_RULES, render_live()) else ["the firewall of live hosts"]
    assert not stale, "run `make docs`"


def _same(path: Path, text: str) -> bool:
    return path.exists() and path.read_text("utf-8") == text
