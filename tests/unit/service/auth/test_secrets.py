# SPDX-License-Identifier: Apache-2.0
"""Secrets at rest."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.errors import ExternalError, UserError
from muster.service.auth.secrets import (
    Place,
    Safe,
    forget_old_keys,
    is_sealed,
    load_safe,
    rotate_safe,
)
from tests.unit.service.auth.ties import repeatable

HERE = Place("cluster-1", "pull_secret")
SAFE = Safe({"one": b"1" * 32}, repeatable("safe"))
PLACES = st.builds(Place, st.text(max_size=8), st.text(max_size=8))


@given(st.text(), PLACES)
def test_what_is_sealed_is_opened(secret: str, place: Place) -> None:
    sealed = SAFE.seal(secret, place)
    assert is_sealed(sealed)
    assert SAFE.open(sealed, place) == secret
    assert len(secret) < 4 or secret not in sealed


@given(PLACES, PLACES)
def test_a_sealed_text_cannot_be_moved(here: Place, there: Place) -> None:
    sealed = SAFE.seal("secret", here)
    if here != there:
        with pytest.raises(ExternalError, match="cannot be opened"):
            SAFE.open(sealed, there)


@given(st.data())
def test_a_changed_text_is_not_opened(data: st.DataObject) -> None:
    sealed = SAFE.seal("a secret", HERE)
    head, body = sealed.rsplit(":", 1)
    raw = bytearray(base64.urlsafe_b64decode(body))
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ExternalError) as caught:
        SAFE.open(f"{head}:{base64.urlsafe_b64encode(raw).decode()}", HERE)
    assert "a secret" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "plain", "sealed:1:", "sealed:1:one", "sealed:1:one:AA", "sealed:1:one:%"]
)
def test_what_was_never_sealed_is_not_opened(text: str) -> None:
    with pytest.raises(ExternalError) as caught:
        SAFE.open(text, HERE)
    assert caught.value.hint


def test_the_same_secret_looks_different_each_time() -> None:
    assert SAFE.seal("x", HERE) != SAFE.seal("x", HERE)


def test_keys_are_rotated_without_losing_a_secret(tmp_path: Path) -> None:
    random = repeatable("rotation")
    old = load_safe(tmp_path, random)
    sealed = old.seal("kept", HERE)
    new = rotate_safe(tmp_path, random)
    assert new.open(sealed, HERE) == "kept"
    assert not new.is_current(sealed)
    renewed = new.renew(sealed, HERE)
    assert new.is_current(renewed)
    assert new.renew(renewed, HERE) == renewed
    last = forget_old_keys(tmp_path, random)
    assert last.open(renewed, HERE) == "kept"
    with pytest.raises(ExternalError, match="which is not there"):
        last.open(sealed, HERE)
    assert (tmp_path / "secrets.key").stat().st_mode & 0o777 == 0o600


def test_keys_are_not_shown(tmp_path: Path) -> None:
    safe = load_safe(tmp_path, repeatable("x"))
    key = (tmp_path / "secrets.key").read_text().strip()
    assert key not in repr(safe)
    assert next(iter(safe.keys)) not in key


@pytest.mark.parametrize("content", [b"", b"short\n", b"\xff\xfe", b"QUJD\n"])
def test_a_broken_key_file_is_an_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "secrets.key").write_bytes(content)
    (tmp_path / "secrets.key").chmod(0o600)
    with pytest.raises(UserError, match="does not hold"):
        load_safe(tmp_path, repeatable("x"))
    assert (tmp_path / "secrets.key").read_bytes() == content
