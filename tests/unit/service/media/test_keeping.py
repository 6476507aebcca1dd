# SPDX-License-Identifier: Apache-2.0
"""What was used last is kept, and nothing is made twice at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from muster.service.media.keeping import Keeping


def test_the_oldest_goes() -> None:
    keeping: Keeping[bytes] = Keeping(10, len)
    made: list[str] = []

    def get(name: str, size: int) -> bytes:
        def make() -> bytes:
            made.append(name)
            return bytes(size)

        return keeping.get(name, make)

    for name in ("a", "b", "a", "c", "a", "b"):
        get(name, 4)
    assert made == ["a", "b", "c", "b"]
    assert keeping.weight == 8
    get("large", 100)
    assert keeping.weight == 100
    get("a", 4)
    assert keeping.weight == 4


def test_many_at_once() -> None:
    keeping: Keeping[int] = Keeping(10, lambda _: 1)
    made: list[int] = []
    together = Barrier(8)

    def make() -> int:
        made.append(1)
        return 5

    def get() -> int:
        together.wait()
        return keeping.get("a", make)

    with ThreadPoolExecutor(8) as pool:
        assert [each.result() for each in [pool.submit(get) for _ in range(8)]] == [5] * 8
    assert made == [1]


def test_failures_are_not_kept() -> None:
    keeping: Keeping[int] = Keeping(10, lambda _: 1)
    with pytest.raises(ZeroDivisionError):
        keeping.get("a", lambda: 1 // 0)
    assert keeping.get("a", lambda: 3) == 3
