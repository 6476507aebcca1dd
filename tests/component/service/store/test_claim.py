# SPDX-License-Identifier: Apache-2.0
"""A file database is one service's alone."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from muster.errors import UserError
from muster.service.store.open import FILE, claim_store

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("is_url", [False, True])
def test_the_second_is_told_who_has_it(tmp_path: Path, is_url: bool) -> None:
    where: str | Path = f"sqlite://{tmp_path / FILE}" if is_url else tmp_path
    first = claim_store(where)
    assert first is not None
    with pytest.raises(UserError, match=f"in use by the service with process id {os.getpid()}") as caught:
        claim_store(tmp_path)
    assert "--data" in caught.value.hint
    first.release()
    second = claim_store(where)
    assert second is not None
    second.release()


def test_it_knows_when_a_service_was_there_last(tmp_path: Path) -> None:
    first = claim_store(tmp_path)
    assert first is not None
    assert first.last_seen is None
    first.touch(NOW - timedelta(days=3))
    first.release()
    second = claim_store(tmp_path)
    assert second is not None
    assert second.last_seen == NOW - timedelta(days=3)
    second.release()


def test_postgresql_is_for_many() -> None:
    assert claim_store("postgresql://muster@db.example.com/muster") is None
