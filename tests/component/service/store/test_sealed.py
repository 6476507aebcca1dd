# SPDX-License-Identifier: Apache-2.0
"""Files are sealed in stores of every kind, and bound to the place where they belong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from muster.errors import ExternalError
from muster.service.auth.secrets import load_safe
from muster.service.realm import Realm
from muster.service.store.port import Change, Store
from muster.service.store.sealed import SealedStore, find_unreadable, noted_keys
from tests.realms import begin

SECRET, LOG = ("c1", "file/host/a.ign"), ("c1", "logs/h1")


def write(store: Store, version: int, **files: bytes | None) -> None:
    names = {"secret": SECRET, "log": LOG}
    store.commit([Change("c1", version, (), {}, {names[each]: body for each, body in files.items()})])


def test_files_are_sealed_and_logs_are_not(store: Store, tmp_path: Path) -> None:
    sealed = SealedStore(store, load_safe(tmp_path / "keys", os.urandom))
    sealed.commit([begin(Realm("c1"))])
    write(sealed, 2, secret=b"hush", log=b"a line")
    inner = store.document("c1", *SECRET)
    assert inner is not None
    assert b"hush" not in inner
    assert store.document("c1", *LOG) == b"a line"
    assert sealed.document("c1", *SECRET) == b"hush"
    assert sealed.documents("c1") == {SECRET: 4, LOG: 6}
    store.commit([Change("c1", 3, (), {}, {("c1", "file/other"): inner})])
    with pytest.raises(ExternalError, match="moved there"):
        sealed.document("c1", "c1", "file/other")
    write(sealed, 4, secret=None)
    assert sealed.document("c1", *SECRET) is None


def test_what_was_in_clear_is_sealed_once_and_keys_are_noted(store: Store, tmp_path: Path) -> None:
    store.commit([begin(Realm("c1"))])
    write(store, 2, secret=b"hush", log=b"a line")
    safe = load_safe(tmp_path / "keys", os.urandom)
    sealed = SealedStore(store, safe)
    assert sealed.document("c1", *SECRET) == b"hush", "old files can be read"
    assert [sealed.seal_all(), sealed.seal_all()] == [1, 0]
    assert store.document("c1", *SECRET) != b"hush"
    assert sealed.document("c1", *SECRET) == b"hush"
    sealed.note_keys()
    assert noted_keys(store) == frozenset(safe.keys)
    assert find_unreadable(store, safe.keys) == {}
    assert find_unreadable(store, ()) == {"c1": [SECRET]}


def test_notes_are_kept_replaced_and_removed(store: Store) -> None:
    assert store.note("a") == ""
    for value in ("one", "two", ""):
        store.write_note("a", value)
        assert store.note("a") == value
    assert store.lost == ""
