# SPDX-License-Identifier: Apache-2.0
"""A store of a test's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.release.store.store import Store, create_store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return create_store(tmp_path / "store")
