# SPDX-License-Identifier: Apache-2.0
"""Time servers: which there are, which are missing, and how far the clock is off."""

from __future__ import annotations

import json

import pytest

from muster.agent.steps.ntp_synchronizer import (
    Source,
    name_sources,
    parse_servers,
    parse_sources,
    run,
)
from muster.agent.steps.outcome import BadArguments, Outcome
from muster.run import Said
from tests.unit.agent.steps.recorded import Recorded, finish, good


def line(state: str, name: str, mode: str = "^") -> str:
    return f"{mode},{state},{name},2,6,377,12,0.000000008,0.000000071,0.000005045\n"


def ask(machine: Recorded, servers: str) -> Outcome:
    return finish(run(machine, [json.dumps({"ntp_source": servers})]))


def rows(done: Outcome) -> list[tuple[str, str]]:
    assert done.exit_code == 0
    return [(each["source_name"], each["source_state"]) for each in json.loads(done.output)["ntp_sources"]]


def test_states() -> None:
    text = "".join(line(state, f"s{number}") for number, state in enumerate("*+-?x~!"))
    assert [each.state for each in parse_sources(text)] == [
        *("synced", "combined", "not_combined", "unreachable", "error", "variable", "error")
    ]
    assert parse_sources(line("*", "PHC0", "#")) == (Source("PHC0", "synced"),)
    assert parse_sources("506 Cannot talk to daemon\n\n") == ()


def test_names_of_servers() -> None:
    text = " a.example.com, fd00::1 ,,10.0.0.1,a.example.com,-h,a b,$(x)"
    assert parse_servers(text) == (("a.example.com", "fd00::1", "10.0.0.1"), ("-h", "a b", "$(x)"))
    assert parse_servers("") == ((), ())


def test_servers_by_name_and_those_of_a_pool_by_address() -> None:
    named = [Source("ntp.example.com", "synced"), Source("pool", "combined"), Source("pool", "error")]
    numeric = [Source("10.0.0.1", "synced"), Source("10.0.0.2", "combined"), Source("10.0.0.3", "error")]
    assert [each.name for each in name_sources(named, numeric)] == ["ntp.example.com", "10.0.0.2", "10.0.0.3"]
    assert name_sources(named[:1], numeric) == tuple(numeric)


def test_a_host_that_has_what_is_wanted_is_only_looked_at() -> None:
    machine = Recorded(
        {
            "chronyc -N -c sources": good(line("*", "ntp.example.com") + line("+", "10.0.0.2")),
            "chronyc -n -c sources": good(line("*", "10.0.0.1") + line("+", "10.0.0.2")),
        }
    )
    done = ask(machine, "ntp.example.com,10.0.0.2,10.0.0.1")
    assert rows(done) == [("10.0.0.2", "combined"), ("ntp.example.com", "synced")]
    assert done.error == ""
    assert len(machine.asked) == 2


def test_what_is_missing_is_added_and_waited_for() -> None:
    machine = Recorded(
        {
            "chronyc -N -c sources": [good(line("*", "a")), good(line("*", "a") + line("+", "b"))],
            "chronyc -n -c sources": [good(line("*", "10.0.0.1")), good(line("*", "1") + line("+", "2"))],
            "chronyc add server b": good("200 OK"),
            "chronyc waitsync": good(),
        }
    )
    assert rows(ask(machine, "a,b")) == [("a", "synced"), ("b", "combined")]
    added = [each for each in machine.asked if "add server" in each]
    assert added == ["chronyc add server b iburst"]


def test_a_host_does_not_follow_itself() -> None:
    own = '[{"addr_info": [{"local": "192.0.2.10"}]}]'
    machine = Recorded(
        {"chronyc -N -c sources": good(), "chronyc -n -c sources": good(), "ip -j address": good(own)}
    )
    assert rows(ask(machine, "192.0.2.10")) == []
    assert not [each for each in machine.asked if "add server" in each or "waitsync" in each]


def test_a_server_that_cannot_be_added_is_told() -> None:
    machine = Recorded(
        {
            "chronyc -N -c sources": good(line("*", "a")),
            "chronyc -n -c sources": good(line("*", "a")),
            "chronyc add server b": Said(1, "", "Could not get address for hostname"),
            "chronyc waitsync": good(),
        }
    )
    done = ask(machine, "a,b,-x")
    assert rows(done) == [("a", "synced")]
    assert done.error.splitlines() == [
        "-x is no name of a time server",
        "cannot add time server b: Could not get address for hostname",
    ]


def test_nothing_is_waited_for_without_servers() -> None:
    machine = Recorded({"chronyc -N -c sources": good(), "chronyc -n -c sources": good()})
    assert rows(ask(machine, "")) == []
    assert len(machine.asked) == 2


def test_no_chrony() -> None:
    done = ask(Recorded({"chronyc": Said(1, "506 Cannot talk to daemon\n", "")}), "a")
    assert (done.output, done.exit_code) == ("", 1)
    assert done.error == "cannot ask chrony for its servers: 506 Cannot talk to daemon"


def test_bad_arguments() -> None:
    with pytest.raises(BadArguments):
        finish(run(Recorded({}), ["{}"]))
