# SPDX-License-Identifier: Apache-2.0
"""`muster events` reads the log of a service, beside it and without it."""

from __future__ import annotations

import json
import random
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from muster.cli.events_list import list_
from muster.cli.events_replay import replay
from muster.errors import MusterError
from muster.service.realm import Draft, Realm
from muster.service.state import InfraEnv
from muster.service.store.open import FILE, open_store
from tests.component.muster import run
from tests.component.service.whole import PULL_SECRET
from tests.component.serving import API, serve
from tests.mutations import damage
from tests.realms import NOW, decide, make_cluster, make_host

SECRET = "hunter2-hunter2"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A cluster with a host that was renamed after an hour, one that is gone, and a pool."""
    first, second, pool = Realm("c1"), Realm("c2"), Realm("i1")

    def create(draft: Draft) -> None:
        draft.add(make_cluster(draft.realm.id))
        draft.change(draft.cluster, name="alpha" if draft.realm is first else "beta", pull_secret=SECRET)
        draft.tell(draft.cluster, "cluster_registration_succeeded", f"Registered {draft.cluster.name}")

    def join(draft: Draft) -> None:
        draft.add(make_host("h1"))
        draft.change(draft.hosts["h1"], requested_hostname="node-a", fencing_credentials=SECRET)
        draft.tell(draft.hosts["h1"], "host_registration_succeeded", "Host node-a: registered")

    def warn(draft: Draft) -> None:
        draft.change(draft.hosts["h1"], status="insufficient")
        draft.tell(
            draft.hosts["h1"], "host_bad", "Host node-a: its disk is\x1b[31m small", severity="warning"
        )

    def fill(draft: Draft) -> None:
        draft.add(InfraEnv(id="i1", name="pool", created_at=NOW, updated_at=NOW, signing_key=SECRET))
        draft.add(make_host("h2"))
        draft.tell(draft.hosts["h2"], "host_registration_succeeded", "Host h2: registered")

    hour = timedelta(hours=1)
    with closing(open_store(tmp_path)) as store:
        store.commit([decide(first, create), decide(second, create), decide(pool, fill)])
        store.commit([decide(first, join, NOW + hour), decide(first, warn, NOW + 2 * hour)])
        store.commit([decide(second, lambda draft: draft.remove(draft.cluster), NOW + 3 * hour)])
    return tmp_path


def words(*arguments: str | Path) -> list[str]:
    done = run("events", "list", *arguments)
    assert (done.status, done.err) == (0, "")
    return [line.split("  ", 2)[-1].strip() for line in done.out.splitlines()]


def test_everything_in_the_order_of_the_log(log: Path) -> None:
    done = run("events", "list", "--data", log)
    assert done.out.splitlines() == [
        "2026-03-01 12:00:00  info      Registered alpha",
        "2026-03-01 12:00:00  info      Registered beta",
        "2026-03-01 12:00:00  info      pool: Host h2: registered",
        "2026-03-01 13:00:00  info      alpha: Host node-a: registered",
        "2026-03-01 14:00:00  warning   alpha: Host node-a: its disk is\\x1b[31m small",
    ]


def test_a_part_of_it(log: Path) -> None:
    data = ("--data", log)
    bad = "Host node-a: its disk is\\x1b[31m small"
    assert words(*data, "--cluster", "alpha", "--severity", "warning") == [bad]
    assert words(*data, "--cluster", "c1", "--since", "2026-03-01T15:30+02:00") == [bad]
    assert words(*data, "--cluster", "beta") == ["Registered beta"]
    assert words(*data, "--cluster", "pool") == ["Host h2: registered"]
    assert words(*data, "--host", "node-a") == ["alpha: Host node-a: registered", f"alpha: {bad}"]
    assert words(*data, "--host", "h2") == ["pool: Host h2: registered"]
    assert words(*data, "--since", "1h") == []
    assert words("--database", f"sqlite://{log / FILE}", "--severity", "error") == []


def test_as_the_interface_has_them(log: Path) -> None:
    done = run("events", "list", "--data", log, "-o", "json")
    found = json.loads(done.out)
    assert [each.get("cluster_id") for each in found] == ["c1", "c2", None, "c1", "c1"]
    assert [each.get("infra_env_id") for each in found] == [None, None, "i1", None, None]
    assert [each.get("host_id") for each in found] == [None, None, "h2", "h1", "h1"]
    assert found[-1]["event_time"] == "2026-03-01T14:00:00Z"
    assert SECRET not in done.out


def test_the_state_as_it_was(log: Path) -> None:
    done = run("events", "replay", "--data", log, "--at", "2026-03-01 13:30")
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines() == [
        "2026-03-01 13:30:00 UTC, after 5 events",
        "cluster alpha (c1): pending-for-input, 1 host",
        "  host node-a: auto-assign, discovering",
        "cluster beta (c2): pending-for-input, 0 hosts",
        "infra-env pool (i1): full-iso, 1 host in its pool",
        "  host h2: auto-assign, discovering",
        "good: the log makes the state that the database has now",
    ]


def test_the_state_as_data_without_secrets(log: Path) -> None:
    done = run("events", "replay", "--data", log, "--cluster", "alpha", "-o", "json")
    assert done.status == 0
    assert SECRET not in done.out
    body = json.loads(done.out)
    assert (body["consistent"], body["differences"], len(body["realms"])) == (True, [], 1)
    cluster, host = body["realms"][0]["subjects"]
    assert (cluster["kind"], cluster["name"], cluster["pull_secret"]) == ("cluster", "alpha", "••••")
    assert (host["kind"], host["status"], host["fencing_credentials"]) == ("host", "insufficient", "••••")


def test_rows_that_somebody_else_changed_are_found(log: Path) -> None:
    with closing(sqlite3.connect(log / FILE)) as db, db:
        db.execute("DELETE FROM subjects WHERE id = 'h2'")
        db.execute("UPDATE subjects SET body = replace(body, '\"alpha\"', '\"omega\"') WHERE id = 'c1'")
    done = run("events", "replay", "--data", log)
    assert done.status == 1
    assert "BAD: cluster c1 of c1 is different: name" in done.out
    assert "BAD: host h2 of i1 is only in the log" in done.out
    assert "the log does not make the state" in done.out


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["list", "--cluster", "gamma"], "there is no cluster or infra-env gamma", "there are: alpha, pool"),
        (["list", "--host", "node-b"], "there is no host node-b", "there are: h2, node-a"),
        (["list", "--since", "yesterday"], "'yesterday' is not a time", "write 2026-03-01T12:00:00Z"),
        (["replay", "--at", "25:00"], "'25:00' is not a time", "write 2026-03-01T12:00:00Z"),
    ],
)
def test_what_cannot_be(log: Path, arguments: list[str], message: str, hint: str) -> None:
    done = run("events", *arguments, "--data", log)
    assert (done.status, done.out) == (1, "")
    assert message in done.err
    assert f"hint: {hint}" in done.err


def test_no_database_there_and_a_newer_one(log: Path) -> None:
    done = run("events", "list", "--data", log / "none")
    assert (done.status, "there is no database at" in done.err) == (1, True)
    with closing(sqlite3.connect(log / FILE)) as db:
        db.execute("PRAGMA user_version=1000")
    for verb in ("list", "replay"):
        done = run("events", verb, "--data", log)
        assert (done.status, "was written by a newer Muster" in done.err) == (1, True)


def test_beside_a_service_that_runs(tmp_path: Path) -> None:
    with serve("--data", tmp_path) as served:
        token = served.log_in()
        given = {"name": "alpha", "openshift_version": "v1.36.3", "pull_secret": PULL_SECRET}
        assert served.ask(f"{API}/clusters", given, token)[0] == 201
        assert any(each.startswith("Registered cluster alpha  [user:") for each in words("--data", tmp_path))
        done = run("events", "replay", "--data", tmp_path, env={"MUSTER_DATA": "/nowhere"})
        assert (done.status, "cluster alpha" in done.out) == (0, True)
        assert served.ask(f"{API}/clusters", given | {"name": "beta"}, token)[0] == 201
        assert served.end()[0] == 0
    assert any(each.startswith("Registered cluster beta  [user:") for each in words("--data", tmp_path))


def test_a_damaged_database_never_looks_like_a_bug(log: Path, tmp_path: Path) -> None:
    """Random damages, the same in each run; what cannot be read is an error that says so."""
    whole, place = (log / FILE).read_bytes(), tmp_path / "damaged"
    place.mkdir()
    refused = 0
    for seed in range(250):
        (place / FILE).write_bytes(damage(whole, random.Random(seed)))
        for command in (list_, replay):
            done = CliRunner().invoke(command, ["--data", str(place), "-o", "json"], standalone_mode=False)
            assert done.exception is None or isinstance(done.exception, MusterError), f"seed {seed}"
            refused += done.exception is not None
    assert refused > 50


def test_a_damaged_database_is_refused_with_the_fix(log: Path) -> None:
    path = log / FILE
    path.write_bytes(
        path.read_bytes().replace(b'"at":"2026-03-01T12:00:00Z"', b'"at":"2026-03-01T12:00:00x"')
    )
    for command in ("list", "replay"):
        done = run("events", command, "--data", log)
        assert done.status == 1
        assert "cannot be read" in done.err
        assert "restore the database from a copy" in done.err
