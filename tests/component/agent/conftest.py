# SPDX-License-Identifier: Apache-2.0
"""A site of one's own, and a cache of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.component.agent.making import example


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return example("compact-baremetal", tmp_path / "site")
