# SPDX-License-Identifier: Apache-2.0
"""The smallest guest really runs, and a guest that hangs does not hold anybody up."""

from __future__ import annotations

import os
import time
from pathlib import Path

from muster.lab.accel import PATIENCE_S, choose_accel, choose_qemu, find_failure, look_at_host
from muster.toolbox import Toolbox

MACHINE = os.uname().machine


def test_the_smallest_guest_runs_emulated(toolbox: Toolbox) -> None:
    assert find_failure(MACHINE, toolbox.argv(f"qemu-system-{MACHINE}"), accel="tcg") == ""


def test_a_choice_is_made_in_time(toolbox: Toolbox, tmp_path: Path) -> None:
    qemu = choose_qemu(MACHINE, lambda: toolbox)
    started = time.monotonic()
    chosen = choose_accel(MACHINE, qemu.argv, tmp_path, host=look_at_host())
    assert time.monotonic() - started < PATIENCE_S + 5
    assert chosen.reason
    assert chosen.expectation


def test_a_guest_that_hangs_is_ended(tmp_path: Path) -> None:
    hangs = tmp_path / "qemu"
    hangs.write_text("#!/bin/sh\nexec sleep 60\n")
    hangs.chmod(0o755)
    assert "did not run within" in find_failure(MACHINE, [str(hangs)])
