# SPDX-License-Identifier: Apache-2.0
"""What the audit log holds, and how much of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from muster.service.audit import (
    HOST_WINDOW_S,
    MAX_CALLERS,
    MOST_STRANGERS,
    WINDOW_S,
    Audit,
    Caller,
    Request,
    actor_of,
)
from muster.service.auth.personas import Grant, Persona, Scope

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
USER = Grant(Persona.USER, session="the-secret-name-of-a-session")
HOST = Grant(Persona.HOST, Scope("i1", None, "h1"))


class Log:
    """An audit log that is kept, and its clock."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.now = 0.0
        self.audit = Audit(lambda: NOW, lambda: self.now, self.written.append)

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.written]

    def record(self, method: str, status: int, grant: Grant | None = None, **more: str) -> None:
        caller = Caller()
        caller.identify(grant)
        caller.ids = {"cluster_id": more["ids"], "host_id": more["ids"]} if "ids" in more else {}
        caller.refusal = more.get("reason", "")
        request = Request(
            method, more.get("operation", "V2UpdateCluster"), more.get("client", "192.0.2.1"), "r1", caller
        )
        self.audit.record(request, status)


def test_actors_are_named_without_what_opens_anything() -> None:
    assert actor_of(None) == ""
    assert actor_of(HOST) == "host:h1"
    assert actor_of(Grant(Persona.MEDIUM, Scope("i1"))) == "medium:i1"
    assert actor_of(Grant(Persona.USER)) == "user"
    assert actor_of(Grant(Persona.USER, link="/x")) == "user:link"
    name = actor_of(USER)
    assert name.startswith("user:")
    assert name.removeprefix("user:") not in USER.session
    assert actor_of(Grant(Persona.WATCHER, session="a")).startswith("watcher:")


def test_reading_is_not_recorded() -> None:
    log = Log()
    log.record("GET", 200, USER)
    log.record("POST", 200, USER, operation="v2ValidateManifest")
    log.record("POST", 409, USER)
    log.record("POST", 503, USER)
    assert log.lines == []


def test_refusals_are_one_line_a_minute_with_a_count() -> None:
    log = Log()
    for number in range(100):
        log.record("GET", 401, operation=f"op{number}")
    log.record("GET", 401, client="192.0.2.2")
    log.now += WINDOW_S
    log.record("GET", 401)
    assert [(each["client"], each.get("repeated", 0)) for each in log.lines] == [
        ("192.0.2.1", 0),
        ("192.0.2.2", 0),
        ("192.0.2.1", 99),
    ]


def test_what_people_change_is_recorded_each_time_and_reports_of_hosts_once_an_hour() -> None:
    log = Log()
    for _ in range(5):
        log.record("PATCH", 201, USER)
        log.record("POST", 204, HOST, operation="v2PostStepReply")
    log.now += HOST_WINDOW_S
    log.record("POST", 204, HOST, operation="v2PostStepReply")
    by = [each["actor"].partition(":")[0] for each in log.lines]
    assert (by.count("user"), by.count("host")) == (5, 2)
    assert log.lines[-1]["repeated"] == 4


def test_many_callers_do_not_fill_the_memory() -> None:
    log = Log()
    for number in range(MAX_CALLERS + 50):
        for _ in range(2):
            log.record("GET", 403, Grant(Persona.HOST, Scope("i1", None, f"h{number}")))
    assert len(log.audit._seen) <= MAX_CALLERS
    dropped = [each for each in log.lines if "caller" in each]
    assert len(dropped) == 50
    assert {each["repeated"] for each in dropped} == {1}


def test_strangers_do_not_fill_the_log() -> None:
    """20,000 addresses were 20,000 records of up to 4 KB, and replaced all that the files had."""
    log = Log()
    for number in range(20_000):
        client = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
        for _ in range(2):
            log.record("GET", 401, client=client, ids="\U0001f600" * 4000, reason="\0" * 4000)
        log.now += 0.001
    log.record("POST", 201, operation="v2Login")
    log.record("PATCH", 201, USER)
    assert [each["event"] for each in log.lines] == ["refused"] * MOST_STRANGERS + ["login", "change"]
    assert max(map(len, log.written)) < 1200
    assert len(log.audit._seen) <= MOST_STRANGERS
    log.now += WINDOW_S
    log.record("GET", 200)
    assert log.lines[-1] == {
        "time": "2026-03-01T12:00:00.000Z",
        "event": "left-out",
        "refusals": 2 * (20_000 - MOST_STRANGERS),
    }
    log.record("POST", 401, operation="v2Login", client="192.0.2.9")
    assert log.lines[-1]["event"] == "login-refused"


def test_strangers_that_are_forgotten_are_counted() -> None:
    log = Log()
    for number in range(MAX_CALLERS + 50):
        if number % MOST_STRANGERS == 0:
            log.now += WINDOW_S
        for _ in range(3):
            log.record("GET", 401, client=f"10.0.{number >> 8}.{number & 255}")
    log.now += WINDOW_S
    log.record("GET", 200)
    assert len(log.audit._seen) == MAX_CALLERS
    assert sum(each.get("refusals", 0) for each in log.lines) == 100
    assert {each["event"] for each in log.lines} == {"refused", "left-out"}
