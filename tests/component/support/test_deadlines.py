# SPDX-License-Identifier: Apache-2.0
"""A part that hangs or fails keeps nobody from having the others."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from muster.support.bundle import Wish, make_bundle
from muster.support.collecting import Collection, Part
from muster.support.first_page import About
from muster.support.room import Kept
from tests.component.agent_machine_steps.machines import RecordedMachine
from tests.component.support.scene import SECRET, read_archive, save


async def hang(_to: Collection) -> Kept:
    await asyncio.Event().wait()
    return Kept()


async def fail(_to: Collection) -> Kept:
    raise KeyError(f"token={SECRET}")


async def work(to: Collection) -> Kept:
    return await to.keep_text("works.txt", "it works\n")


def test_parts_that_hang_and_fail(tmp_path: Path) -> None:
    save(
        tmp_path / "root/run/muster/agent.json",
        '{"doing":"asks","since":"2026-01-01T00:00:00Z","trouble":"lost"}',
    )
    save(tmp_path / "root/run/muster/host-token", f"{SECRET}-own")
    save(tmp_path / "root/var/log/pods/a_b_c/d/0.log", f"told {SECRET}-own\n")
    more = (Part("hangs.txt", hang, 0.05), Part("fails.txt", fail), Part("works.txt", work))
    about = About("Bundle of host a", datetime.now(UTC))
    wish = Wish(about, tmp_path / "a.tar.gz", "a", tmp_path / "scratch", more)
    made = asyncio.run(make_bundle(RecordedMachine(tmp_path / "root"), wish))
    files = read_archive(made.archive)
    assert files["works.txt"] == "it works\n"
    assert "  hangs.txt: it took longer than 0.05 s\n" in files["report.txt"]
    assert "  fails.txt: 'token=••••" in files["report.txt"]
    assert "  run/muster/host-token\n" in files["report.txt"]
    assert files["var/log/pods/a_b_c/d/0.log"] == "told ••••\n"
    assert made.cause is not None
    assert made.cause.message == "asks: lost"
    assert list((tmp_path / "scratch").iterdir()) == []
