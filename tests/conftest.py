# SPDX-License-Identifier: Apache-2.0
"""What all tests share: golden files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

Golden: TypeAlias = Callable[[Path, str], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--regen", action="store_true", help="write the golden files anew")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compare a text with a file, or write the file with --regen."""

    def compare(path: Path, text: str) -> None:
        if request.config.getoption("--regen"):
            path.write_text(text, "utf-8")
        assert path.exists(), f"{path} is missing; `make golden` writes it"
        assert text == path.read_text("utf-8")

    return compare
