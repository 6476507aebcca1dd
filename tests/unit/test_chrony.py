# SPDX-License-Identifier: Apache-2.0
"""What chrony says, and what it is told."""

from __future__ import annotations

import pytest

from muster.chrony import Tracking, find_server, parse_tracking, tell_time
from muster.run import Said
from tests.unit.agent.steps.recorded import Recorded, finish, good

TRACKING = (
    "7F000001,10.9.0.2,9,1794882196.290507412,0.499996573,0.000000063,0.000000063,0.033,0.000,6.804,"
    "0.000010000,0.000024774,2.0,Normal\n"
)
UNSYNCED = "00000000,,0,0.000000000,0.000000000,0.0,0.0,0.0,0.0,0.0,1.0,1.0,0.0,Not synchronised\n"
OWN = "7F7F0101,,10,1794894168.5,0.0,0.0,0.0,0.000,0.000,0.000,0.0,0.0,0.0,Normal\n"


def test_tracking() -> None:
    found = parse_tracking(TRACKING)
    assert found is not None
    assert found == Tracking("10.9.0.2", 9, -0.499996573, found.root_distance_s, True)
    assert found.root_distance_s == pytest.approx(0.000029774)
    unsynced = parse_tracking(UNSYNCED)
    assert unsynced is not None
    assert (unsynced.is_synced, unsynced.server) == (False, "")


@pytest.mark.parametrize(
    "text", ["", "506 Cannot talk to daemon\n", TRACKING[:60], "a,b,c,d,e,f,g,h,i,j,k,l,m,n"]
)
def test_no_tracking(text: str) -> None:
    assert parse_tracking(text) is None


@pytest.mark.parametrize(("said", "server"), [(TRACKING, "10.9.0.2"), (UNSYNCED, ""), (OWN, "")])
def test_whom_a_clock_follows(said: str, server: str) -> None:
    machine = Recorded({"chronyc -n -c tracking": good(said)})
    assert finish(find_server(machine)) == server
    assert len(machine.asked) == 1


def test_a_server_gets_a_moment_to_answer_if_there_is_one() -> None:
    asked: dict[str, Said | list[Said]] = {
        "chronyc -n -c tracking": [good(UNSYNCED), good(TRACKING)],
        "chronyc waitsync 9": good(),
    }
    assert finish(find_server(Recorded({**asked, "chronyc -c sources": good("^,?,a\n")}), 9)) == "10.9.0.2"
    nobody = Recorded({**asked, "chronyc -c sources": good()})
    assert finish(find_server(nobody, 9)) == ""
    assert not [each for each in nobody.asked if "waitsync" in each]
    assert finish(find_server(Recorded({}), 9)) == ""


def test_a_host_tells_the_time_to_its_networks_only() -> None:
    machine = Recorded({"chronyc": good("200 OK")})
    assert finish(tell_time(machine, ("192.0.2.0/24", "fd00::/64"))) == ""
    assert machine.asked == [
        *("chronyc local stratum 10", "chronyc allow 192.0.2.0/24", "chronyc allow fd00::/64")
    ]
    silent = Recorded({"chronyc": Said(1, "506 Cannot talk to daemon\n", "")})
    assert "506" in finish(tell_time(silent, ("192.0.2.0/24",)))
