# SPDX-License-Identifier: Apache-2.0
"""Changes that are written together."""

from __future__ import annotations

import pytest

from muster.service.realm import Realm
from muster.service.store.batch import gather
from muster.service.store.port import Change, ConflictError
from tests.realms import begin, decide, make_host, rename


def test_each_row_is_written_once_as_it_is_last() -> None:
    first, second = Realm("c1"), Realm("c2", 7)
    second_cluster = begin(second)
    changes = [begin(first), second_cluster, rename(first, "a"), rename(first, "b")]
    batch = gather(changes)
    assert (batch.before, batch.after) == ({"c1": 0, "c2": 7}, {"c1": 3, "c2": 8})
    assert batch.rows == {
        ("c1", "cluster", "c1"): first.cluster,
        ("c2", "cluster", "c2"): second.cluster,
    }
    assert [(realm, version) for realm, version, _ in batch.events] == [
        ("c1", 1),
        ("c2", 8),
        ("c1", 2),
        ("c1", 3),
    ]


def test_what_came_and_went_is_gone() -> None:
    realm = Realm("c1", 3)
    host = make_host()
    batch = gather(
        [
            decide(realm, lambda draft: draft.add(host)),
            decide(realm, lambda draft: draft.documents.update({("h1", "logs"): b"x"})),
            decide(realm, lambda draft: draft.remove(draft.hosts["h1"])),
            decide(realm, lambda draft: draft.documents.update({("h1", "logs"): None})),
        ]
    )
    assert batch.rows == {("c1", "host", "h1"): None}
    assert batch.documents == {("c1", "h1", "logs"): None}
    assert batch.after == {"c1": 7}


@pytest.mark.parametrize("order", [(0, 2), (1, 0), (0, 0)])
def test_versions_that_do_not_follow(order: tuple[int, int]) -> None:
    realm = Realm("c1", 3)
    changes = [put_file(realm), put_file(realm), put_file(realm)]
    with pytest.raises(ConflictError):
        gather([changes[index] for index in order])


def put_file(realm: Realm) -> Change:
    return decide(realm, lambda draft: draft.documents.update({("h1", "logs"): b"x"}))


def test_nothing() -> None:
    assert gather([]).after == {}
