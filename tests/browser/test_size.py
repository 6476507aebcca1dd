# SPDX-License-Identifier: Apache-2.0
"""How much comes over the wire before somebody sees something, and how much is shipped."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from muster.service.edge.page import BUILT

FIRST_LOAD = 350_000
ALL = 2_000_000
_NAMED = re.compile(r"""(?:src|href)="/(assets/[^"]+)\"""")


@pytest.fixture(scope="module")
def built() -> Path:
    if not (BUILT / "index.html.gz").exists():
        pytest.fail("the page was not built: make web", pytrace=False)
    return BUILT


def test_the_first_load_is_small(built: Path) -> None:
    index = (built / "index.html.gz").read_bytes()
    named = _NAMED.findall(gzip.decompress(index).decode())
    assert any(each.endswith(".js") for each in named)
    sizes = {each: (built / f"{each}.gz").stat().st_size for each in named if (built / f"{each}.gz").exists()}
    assert len(index) + sum(sizes.values()) < FIRST_LOAD, sizes


def test_all_of_it_is_small_and_nothing_is_shipped_twice(built: Path) -> None:
    files = [path for path in built.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < ALL
    assert not [path.name for path in files if path.suffix in (".js", ".css", ".html", ".map")]
    assert not [path.name for path in files if (path.parent / f"{path.name}.gz").exists()]
