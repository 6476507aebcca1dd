# SPDX-License-Identifier: Apache-2.0
"""A signed store is the one that its owner signed, and no other."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from muster.errors import MediaError
from muster.release.store.collect import collect_garbage
from muster.release.store.seal import SIGNATURE, Seal
from muster.release.store.store import Store, create_store, open_store
from muster.release.store.verify import verify_store
from tests.stores import NAME, OTHER, make_store, put_image

KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
ANOTHER = Ed25519PrivateKey.from_private_bytes(b"x" * 32)


@pytest.fixture
def signed(tmp_path: Path) -> Store:
    store = create_store(tmp_path / "store", key=KEY)
    put_image(store, [b"layer"], NAME)
    return store


def test_whoever_has_the_public_key_can_trust_it(signed: Store) -> None:
    trusted = open_store(signed.root, public_key=KEY.public_key())
    assert NAME in trusted.contents().images
    assert verify_store(signed, public_key=KEY.public_key()).seal is Seal.GOOD
    assert verify_store(signed).seal is Seal.UNCHECKED


def test_a_key_of_somebody_else_is_told(signed: Store) -> None:
    with pytest.raises(MediaError, match="signed by somebody else"):
        open_store(signed.root, public_key=ANOTHER.public_key())
    report = verify_store(signed, public_key=ANOTHER.public_key())
    assert (report.seal, report.is_good) == (Seal.WRONG, False)


def test_a_changed_index_is_told(signed: Store) -> None:
    trusted = open_store(signed.root, public_key=KEY.public_key())
    with (signed.root / "index.json").open("ab") as file:
        file.write(b" ")
    with pytest.raises(MediaError, match="was changed"):
        trusted.contents()


def test_a_store_that_is_not_signed_is_told(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    with pytest.raises(MediaError, match="is not signed"):
        open_store(tmp_path, public_key=KEY.public_key())
    report = verify_store(store, public_key=KEY.public_key())
    assert (report.seal, report.is_good) == (Seal.NONE, False)
    assert verify_store(store).is_good


def test_a_change_without_the_key_takes_the_signature_away(
    signed: Store, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(signed.root)
    with caplog.at_level(logging.WARNING, "muster"):
        store.name(store.contents().images)
        assert (store.root / SIGNATURE).exists(), "nothing has changed"
        put_image(store, [b"more"], OTHER)
    assert not (store.root / SIGNATURE).exists()
    assert "its signature was removed" in caplog.text


def test_a_change_with_the_key_is_signed(signed: Store) -> None:
    put_image(signed, [b"more"], OTHER)
    collect_garbage(signed, [NAME])
    assert set(open_store(signed.root, public_key=KEY.public_key()).contents().images) == {OTHER}


def test_a_store_that_is_there_is_signed(tmp_path: Path) -> None:
    make_store(tmp_path)
    open_store(tmp_path, key=KEY).sign()
    open_store(tmp_path, public_key=KEY.public_key())
    before = (tmp_path / SIGNATURE).stat()
    open_store(tmp_path, key=KEY).sign()
    assert (tmp_path / SIGNATURE).stat() == before, "a good signature is left as it is"
