# SPDX-License-Identifier: Apache-2.0
"""The store that is served, as it is now: its index is read again when it has changed."""

from __future__ import annotations

import logging
from pathlib import Path
from threading import Lock
from typing import Final

from muster.errors import MusterError
from muster.release.registry.shelf import Shelf
from muster.release.store.seal import SIGNATURE
from muster.release.store.store import INDEX, Store

_logger: Final = logging.getLogger(__name__)
Mark = tuple[tuple[int, int, int] | None, ...]


class Current:
    """Gives the shelf of a store; several threads may ask."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = Lock()
        self._mark = self._look()
        self._shelf = self._read()

    def shelf(self) -> Shelf:
        """What the index leads to. When it cannot be read any more, what it led to before."""
        mark = self._look()
        if mark != self._mark:
            with self._lock:
                if mark != self._mark:
                    self._mark = mark
                    self._reread()
        return self._shelf

    def _reread(self) -> None:
        try:
            self._shelf = self._read()
        except MusterError as error:
            _logger.warning("%s; what was served before is served still", error.message)
            return
        _logger.info(
            "%s has changed: %d images are served", self._store.root / INDEX, self._shelf.names.count
        )

    def _read(self) -> Shelf:
        shelf = Shelf(self._store, self._store.contents())
        for name in shelf.names.unusable:
            _logger.warning("%r in %s names no image of a registry: it is not served", name, INDEX)
        return shelf

    def _look(self) -> Mark:
        """What tells one version of the index, and of its signature, from another; each is a new file."""
        return tuple(_mark(self._store.root / name) for name in (INDEX, SIGNATURE))


def _mark(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
