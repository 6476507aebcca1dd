# SPDX-License-Identifier: Apache-2.0
"""Who is killed while it writes loses nothing that it was told is written."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest

from muster.service.realm import Realm
from muster.service.replay import check_store
from muster.service.store.open import open_store
from muster.service.store.port import Store
from tests.postgres import Postgres
from tests.realms import begin, rename

KILLS = 6
REPLICA = """
import sys
from muster.service.store.open import open_store
from muster.service.store.port import ConflictError
from tests.realms import decide, make_host
store = open_store(sys.argv[1])
for number in range(100_000):
    host = make_host(f"{sys.argv[2]}-{number}")
    while True:
        (realm,) = store.load("c1")
        try:
            store.commit([decide(realm, lambda draft: draft.add(host))])
        except ConflictError:
            continue
        print(host.id, flush=True)
        break
"""


def check_all_is_there(store: Store, acknowledged: set[str]) -> None:
    """All that was answered, once, and no version twice or left out."""
    assert check_store(store) == []
    there = [id for realm in store.load() for id in realm.hosts]
    assert len(there) == len(set(there))
    assert acknowledged <= set(there)
    for realm in store.load():
        assert [each.version for each in store.log(realm.id)] == list(range(1, realm.version + 1))


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_two_write_the_same_realm_and_one_is_killed_again_and_again(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str
) -> None:
    where = str(tmp_path)
    if kind == "postgresql":
        server: Postgres = request.getfixturevalue("postgres")
        where = server.url(server.create())
    acknowledged: set[str] = set()
    store = open_store(where)
    store.commit([begin(Realm("c1"))])
    with start_replica(where, "steady") as steady:
        for number in range(KILLS):
            with start_replica(where, f"killed{number}") as replica:
                acknowledged.update(read_lines(replica, 3 + number))
                replica.kill()
                acknowledged.update(read_lines(replica))
        steady.kill()
        acknowledged.update(read_lines(steady))
    assert len(acknowledged) >= sum(range(3, 3 + KILLS))
    check_all_is_there(store, acknowledged)
    store.commit([rename(next(iter(store.load("c1"))), "after")])
    store.close()


def start_replica(where: str, name: str) -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", REPLICA, where, name]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[4])


def read_lines(replica: subprocess.Popen[str], count: int | None = None) -> list[str]:
    """So many lines, or all that are left; one that was not printed to its end does not count."""
    assert replica.stdout is not None
    lines = itertools.islice(replica.stdout, count)
    return [line.strip() for line in lines if line.endswith("\n")]
