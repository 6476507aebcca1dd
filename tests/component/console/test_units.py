# SPDX-License-Identifier: Apache-2.0
"""Where the console takes the place of the login: on live systems, on the terminals that the kernel uses."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from muster.machine_os.recipe import find_home

GENERATOR = find_home() / "tree/usr/lib/systemd/system-generators/muster-console"
UNIT = find_home() / "tree/usr/lib/systemd/system/muster-console@.service"


def generate(root: Path, active: str | None) -> tuple[set[str], set[str]]:
    """The units that are started, and those that are not, on a machine with these consoles."""
    if active is not None:
        place = root / "sys/class/tty/console"
        place.mkdir(parents=True)
        (place / "active").write_text(active)
    folders = [root / name for name in ("normal", "early", "late")]
    for folder in folders:
        folder.mkdir()
    subprocess.run([GENERATOR, *folders], check=True, env={**os.environ, "MUSTER_ROOT": str(root)})
    wants = folders[0] / "getty.target.wants"
    assert all(each.readlink().name == UNIT.name for each in wants.glob("*"))
    assert all(each.readlink() == Path("/dev/null") for each in folders[1].iterdir())
    return {each.name for each in wants.glob("*")}, {each.name for each in folders[1].iterdir()}


@pytest.mark.parametrize(
    ("active", "lines"),
    [("tty0 ttyS0\n", {"ttyS0"}), ("tty0\n", set()), ("ttyAMA0 hvc0\n", {"ttyAMA0", "hvc0"}), (None, set())],
)
def test_a_live_system(tmp_path: Path, active: str | None, lines: set[str]) -> None:
    started, masked = generate(tmp_path, active)
    assert started == {f"muster-console@{each}.service" for each in {"tty1", *lines}}
    assert masked == {"getty@tty1.service", *(f"serial-getty@{each}.service" for each in lines)}


def test_an_installed_system_keeps_its_login(tmp_path: Path) -> None:
    (tmp_path / "run/muster").mkdir(parents=True)
    (tmp_path / "run/muster/disk").write_text("/dev/sda\n")
    assert generate(tmp_path, "tty0 ttyS0\n") == (set(), set())


def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    text = UNIT.read_text().replace("/usr/bin/muster", "/bin/true")
    (tmp_path / UNIT.name).write_text(text)
    unit = tmp_path / UNIT.name.replace("@", "@tty1")
    done = subprocess.run(["systemd-analyze", "verify", unit], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
