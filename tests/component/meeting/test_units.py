# SPDX-License-Identifier: Apache-2.0
"""When the units of a host start that know where the hosts meet, or have somebody say it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from muster.agent.meeting.place import FOLDER, MeetingPlace, Papers
from muster.machine_os.recipe import find_home
from muster.model.meeting import GENERIC_MARK

UNITS = find_home() / "tree/usr/lib/systemd/system"
PRESET = find_home() / "tree/usr/lib/systemd/system-preset/80-muster.preset"
MANIFESTS = "/etc/assisted/manifests"
JOINED = f"/{FOLDER}/joined.json"


def starts(unit: str, there: set[str]) -> bool:
    """Whether a unit starts on a host that has these paths, by systemd's rules for conditions."""
    lines = (UNITS / unit).read_text().splitlines()
    conditions = [line.partition("=")[2] for line in lines if line.startswith("ConditionPathExists=")]
    assert conditions

    def holds(path: str) -> bool:
        return (path.lstrip("!") in there) != path.startswith("!")

    alternatives = [holds(each[1:]) for each in conditions if each.startswith("|")]
    return all(holds(each) for each in conditions if not each.startswith("|")) and (
        not alternatives or any(alternatives)
    )


@pytest.mark.parametrize(
    ("there", "units"),
    [
        ({MANIFESTS}, {"muster-rendezvous.service"}),
        ({GENERIC_MARK}, {"muster-rendezvous.service", "muster-meet.service"}),
        ({GENERIC_MARK, JOINED}, {"muster-meet.service"}),
        ({GENERIC_MARK, MANIFESTS}, {"muster-rendezvous.service", "muster-meet.service"}),
        ({"/var/lib/muster/service/site.json"}, {"muster-status.service"}),
        (
            {"/var/lib/muster/service/site.json", GENERIC_MARK},
            {"muster-rendezvous.service", "muster-meet.service"},
        ),
        (set(), set()),
    ],
)
def test_who_starts_where(there: set[str], units: set[str]) -> None:
    all_of_them = {"muster-rendezvous.service", "muster-meet.service", "muster-status.service"}
    assert {each for each in all_of_them if starts(each, there)} == units


def test_the_place_is_the_one_that_is_meant(tmp_path: Path) -> None:
    MeetingPlace(tmp_path).save_papers(Papers("", "", ""))
    assert (tmp_path / JOINED.lstrip("/")).exists()


def test_it_is_enabled() -> None:
    assert "enable muster-meet.service" in PRESET.read_text().splitlines()


@pytest.mark.parametrize(
    "name", ["muster-meet.service", "muster-rendezvous.service", "muster-status.service"]
)
def test_systemd_understands_it(tmp_path: Path, name: str) -> None:
    unit = tmp_path / name
    unit.write_text((UNITS / name).read_text().replace("/usr/bin/muster", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", unit], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
