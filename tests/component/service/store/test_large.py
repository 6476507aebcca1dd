# SPDX-License-Identifier: Apache-2.0
"""Large files, in parts."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from muster.service.realm import Realm
from muster.service.store.large import (
    PART,
    Key,
    Parts,
    Put,
    find_large,
    find_leftovers,
    put_large,
    read_large,
    remove_large,
)
from muster.service.store.port import Store, StoreError
from tests.realms import begin, decide

LOGS: Key = ("h1", "logs#1.tar.gz")


def writer(store: Store, realm: Realm) -> Put:
    """As a service puts documents: each as a decision about the realm."""

    async def put(documents: dict[Key, bytes | None]) -> None:
        store.commit([decide(realm, lambda draft: draft.documents.update(documents))])

    return put


async def stream(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


async def broken(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk
    raise ConnectionResetError


def read(store: Store) -> bytes:
    parts = find_large(store, "c1", LOGS)
    assert parts is not None
    return b"".join(read_large(store, "c1", LOGS, parts))


async def test_a_file_comes_back_as_it_was(store: Store) -> None:
    realm = Realm("c1")
    store.commit([begin(realm)])
    put = writer(store, realm)
    chunks = [bytes([number]) * (400_000 + number) for number in range(7)]
    parts = await put_large(put, LOGS, stream(*chunks), upload="a")
    whole = b"".join(chunks)
    assert parts == Parts(upload="a", count=3, size_bytes=len(whole))
    assert find_large(store, "c1", LOGS) == parts
    assert list(map(len, read_large(store, "c1", LOGS, parts))) == [PART, PART, len(whole) - 2 * PART]
    assert read(store) == whole
    assert list(store.documents("c1", "h1")) == [LOGS]


@pytest.mark.parametrize("size", [0, 1, PART, PART + 1, 3 * PART])
async def test_sizes(store: Store, size: int) -> None:
    realm = Realm("c1")
    store.commit([begin(realm)])
    await put_large(writer(store, realm), LOGS, stream(bytes(size)), upload="a")
    assert read(store) == bytes(size)
    assert max(store.documents("c1").values()) <= PART


async def test_a_new_file_replaces_the_old_one_at_once(store: Store) -> None:
    realm = Realm("c1")
    store.commit([begin(realm)])
    put = writer(store, realm)
    old = await put_large(put, LOGS, stream(b"old" * PART), upload="a")

    async def look() -> AsyncIterator[bytes]:
        yield b"new" * PART
        assert read(store) == b"old" * PART

    reading = read_large(store, "c1", LOGS, old)
    assert len(next(reading)) == PART
    await put_large(put, LOGS, look(), upload="b", replaces=old)
    assert read(store) == b"new" * PART
    assert len(store.documents("c1")) == 4
    with pytest.raises(StoreError, match="was replaced or removed while it was read"):
        next(reading)


async def test_what_an_upload_that_was_cut_off_left_is_found(store: Store) -> None:
    realm = Realm("c1")
    store.commit([begin(realm)])
    put = writer(store, realm)
    await put_large(put, LOGS, stream(b"good"), upload="a")
    await put({("c1", "manifests/a#b.yaml"): b"the user's"})
    with pytest.raises(ConnectionResetError):
        await put_large(put, LOGS, broken(bytes(2 * PART)), upload="b")
    with pytest.raises(ConnectionResetError):
        await put_large(put, ("h2", "logs"), broken(bytes(PART)), upload="c")
    assert read(store) == b"good"
    assert find_large(store, "c1", ("h2", "logs")) is None
    leftovers = find_leftovers(store, "c1")
    assert len(leftovers) == 3
    await put(leftovers)
    assert find_leftovers(store, "c1") == {}
    assert read(store) == b"good"
    assert store.document("c1", "c1", "manifests/a#b.yaml") == b"the user's"


async def test_a_file_is_removed_with_all_its_parts(store: Store) -> None:
    realm = Realm("c1")
    store.commit([begin(realm)])
    put = writer(store, realm)
    parts = await put_large(put, LOGS, stream(bytes(3 * PART)), upload="a")
    await put(remove_large(LOGS, parts))
    assert store.documents("c1") == {}
    assert find_large(store, "c1", LOGS) is None


async def test_a_small_document_is_no_large_file(store: Store) -> None:
    realm = Realm("c1")
    store.commit([begin(realm)])
    await writer(store, realm)({LOGS: b"small"})
    assert find_large(store, "c1", LOGS) is None
