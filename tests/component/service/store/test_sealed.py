# SPDX-License-Identifier: Apache-2.0
"""Files are sealed in stores of every kind, and bound to the place where they belong."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from muster.errors import ExternalError
from muster.service.auth.secrets import load_safe
from muster.service.realm import Realm
from muster.service.store.port import Change, Store, StoreError
from muster.service.store.sealed import SealedStore, find_unreadable, noted_keys
from tests.realms import begin

SECRET, GONE, LOG = ("c1", "file/host/a.ign"), ("c1", "manifest/manifests/gone.yaml"), ("c1", "logs/h1")


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


class RacedStore(SealedStore):
    """Another replica replaces one file and deletes another one before the first commit of this one."""

    is_raced = False

    def commit(self, changes: Sequence[Change]) -> None:
        if not self.is_raced:
            self.is_raced = True
            self.inner.commit([Change("c1", 3, (), {}, {SECRET: b"new", GONE: None})])
        super().commit(changes)


def test_sealing_keeps_what_another_replica_wrote_meanwhile(store: Store, tmp_path: Path) -> None:
    store.commit([begin(Realm("c1"))])
    store.commit([Change("c1", 2, (), {}, {SECRET: b"old", GONE: b"to be deleted"})])
    sealed = RacedStore(store, load_safe(tmp_path / "keys", os.urandom))
    assert sealed.seal_all() == 1
    assert sealed.document("c1", *SECRET) == b"new"
    assert store.document("c1", *SECRET) != b"new", "it is sealed"
    assert store.document("c1", *GONE) is None


class KilledError(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("end", [StoreError("the disk is full"), KilledError()])
def test_scrub_is_repeated_at_each_start_until_it_succeeds(
    store: Store,
    tmp_path: Path,
    end: BaseException,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, "muster.service")
    store.commit([begin(Realm("c1"))])
    write(store, 2, secret=b"hush")
    sealed = SealedStore(store, load_safe(tmp_path / "keys", os.urandom))
    scrubs: list[BaseException | None] = [end, None]
    scrub = store.scrub

    def interrupted() -> None:
        if (error := scrubs.pop(0)) is not None:
            raise error
        scrub()

    monkeypatch.setattr(store, "scrub", interrupted)
    if isinstance(end, StoreError):
        assert sealed.seal_all() == 1, "the service starts nevertheless"
        assert "secrets in clear text: they could not be removed (the disk is full)" in caplog.text
    else:
        with pytest.raises(KilledError):
            sealed.seal_all()
    assert [sealed.seal_all(), sealed.seal_all()] == [0, 0]
    assert scrubs == []


def test_new_store_is_not_scrubbed(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(type(store), "scrub")
    sealed = SealedStore(store, load_safe(tmp_path / "keys", os.urandom))
    assert sealed.seal_all() == 0
    sealed.commit([begin(Realm("c1"))])
    assert sealed.seal_all() == 0


def test_notes_are_kept_replaced_and_removed(store: Store) -> None:
    assert store.note("a") == ""
    for value in ("one", "two", ""):
        store.write_note("a", value)
        assert store.note("a") == value
    assert store.lost == ""
