# SPDX-License-Identifier: Apache-2.0
"""A small memory: what was made is kept while there is room, and made once when many ask at once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

V = TypeVar("V")


class Keeping(Generic[V]):
    """Keeps what was used last; for several threads."""

    def __init__(self, most: int, weigh: Callable[[V], int]) -> None:
        self._most = most
        self._weigh = weigh
        self._kept: OrderedDict[Hashable, V] = OrderedDict()
        self._weight = 0
        self._making: dict[Hashable, Future[V]] = {}
        self._lock = Lock()

    @property
    def weight(self) -> int:
        """Of all that is kept."""
        return self._weight

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """What is kept under a key; else it is made, by one of those who ask at the same time."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            promise = self._making.get(key)
            is_mine = promise is None
            if promise is None:
                promise = self._making[key] = Future()
        if is_mine:
            self._make(key, make, promise)
        return promise.result()

    def _make(self, key: Hashable, make: Callable[[], V], promise: Future[V]) -> None:
        try:
            made = make()
        except BaseException as error:  # noqa: BLE001 - all who wait are told
            self._forget(key)
            promise.set_exception(error)
        else:
            self._keep(key, made)
            promise.set_result(made)

    def _keep(self, key: Hashable, made: V) -> None:
        with self._lock:
            self._making.pop(key, None)
            self._kept[key] = made
            self._weight += self._weigh(made)
            while self._weight > self._most and len(self._kept) > 1:
                _, gone = self._kept.popitem(last=False)
                self._weight -= self._weigh(gone)

    def _forget(self, key: Hashable) -> None:
        with self._lock:
            self._making.pop(key, None)
