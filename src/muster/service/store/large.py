# SPDX-License-Identifier: Apache-2.0
"""Files of any size in a store, in parts: nobody has to have one in memory as a whole.

    await put_large(put, ("h1", "logs.tar.gz"), chunks, upload=random_id)
    for part in read_large(store, realm, ("h1", "logs.tar.gz"), parts): ...

The parts are documents of a subject of their own, which no user's file can be of. The file itself is a small
document that tells of them. It is written last, together with the removal of what it replaces: whoever reads
finds the old file or the new one. What an upload that was cut off left behind is found by `find_leftovers`.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator
from typing import Final, TypeAlias

import msgspec

from muster.service.store.port import Store, StoreError

PART: Final = 1 << 20
_HEAD: Final = b"muster-parts:"

Key: TypeAlias = tuple[str, str]
Put: TypeAlias = Callable[[dict[Key, bytes | None]], Awaitable[None]]
"""Writes documents of a realm (none: it is gone), and returns when they are durable."""


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """What the document of a large file says."""

    upload: str
    count: int
    size_bytes: int

    def keys(self, key: Key) -> list[Key]:
        """The documents that hold the file."""
        return [_part(key, self.upload, number) for number in range(1, self.count + 1)]


def _part(key: Key, upload: str, number: int) -> Key:
    subject, name = key
    return f"{subject}#{name}", f"{upload}.{number:04}"


async def put_large(
    put: Put, key: Key, chunks: AsyncIterable[bytes], *, upload: str, replaces: Parts | None = None
) -> Parts:
    """Write a file as it comes; ``upload`` is a new name each time. It replaces one that is known."""
    count, size_bytes = 0, 0
    async for part in _cut(chunks):
        count, size_bytes = count + 1, size_bytes + len(part)
        await put({_part(key, upload, count): part})
    parts = Parts(upload=upload, count=count, size_bytes=size_bytes)
    gone: list[Key] = replaces.keys(key) if replaces is not None else []
    await put({**dict.fromkeys(gone), key: _HEAD + msgspec.json.encode(parts)})
    return parts


def remove_large(key: Key, parts: Parts) -> dict[Key, bytes | None]:
    """The documents whose removal removes a file."""
    return dict.fromkeys([key, *parts.keys(key)])


def find_large(store: Store, realm: str, key: Key) -> Parts | None:
    """What is known of a file, if it is there and in parts."""
    body = store.document(realm, *key)
    if body is None or not body.startswith(_HEAD):
        return None
    return msgspec.json.decode(body[len(_HEAD) :], type=Parts)


def read_large(store: Store, realm: str, key: Key, parts: Parts) -> Iterator[bytes]:
    """The parts of a file, one after the other."""
    for part in parts.keys(key):
        body = store.document(realm, *part)
        if body is None:
            raise StoreError(f"{key[1]} was replaced or removed while it was read", hint="ask for it again")
        yield body


def find_leftovers(store: Store, realm: str) -> dict[Key, bytes | None]:
    """Parts that no file names, as documents to remove. Ask when nobody uploads to the realm."""
    there = [key for key in store.documents(realm) if "#" in key[0]]
    named: set[Key] = set()
    for file in {subject for subject, _ in there}:
        subject, _, name = file.partition("#")
        if (parts := find_large(store, realm, (subject, name))) is not None:
            named.update(parts.keys((subject, name)))
    return dict.fromkeys(key for key in there if key not in named)


async def _cut(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """The same bytes in parts of one size."""
    kept = bytearray()
    async for chunk in chunks:
        kept += chunk
        while len(kept) >= PART:
            yield bytes(kept[:PART])
            del kept[:PART]
    if kept:
        yield bytes(kept)
