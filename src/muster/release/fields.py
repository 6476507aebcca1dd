# SPDX-License-Identifier: Apache-2.0
"""Reads the fields of a table that came out of TOML or JSON, and says which of them is not right."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from muster.errors import MusterError

Fault: TypeAlias = Callable[[str], MusterError]
"""Makes an error of what is wrong; it knows the file, and what to do about it."""
_REQUIRED: Final[Any] = object()


class Fields:
    """The fields of one table. What is asked for is known; `finish` tells of anything else."""

    def __init__(self, body: object, where: str, fault: Fault) -> None:
        self._where, self._fault = where, fault
        if not isinstance(body, dict):
            raise fault(f"{where or 'it'} is not a table")
        self._body: Mapping[str, Any] = body
        self._asked: set[str] = set()

    def text(self, name: str, default: str = _REQUIRED) -> str:
        found = self._get(name, default)
        if not isinstance(found, str) or (default is _REQUIRED and not found):
            raise self.wrong(name, "is not a text")
        return found

    def number(self, name: str, default: int = _REQUIRED) -> int:
        found = self._get(name, default)
        if not isinstance(found, int) or isinstance(found, bool) or found < 0:
            raise self.wrong(name, "is not a number")
        return found

    def flag(self, name: str) -> bool:
        found = self._get(name, default=False)
        if not isinstance(found, bool):
            raise self.wrong(name, "is neither true nor false")
        return found

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; a missing one is empty."""
        found = self._get(name, [])
        if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
            raise self.wrong(name, "is not a list of texts")
        return tuple(found)

    def words(self, name: str) -> dict[str, str]:
        """Texts by name; a missing table is empty."""
        found = self._get(name, {})
        if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
            raise self.wrong(name, "is not a table of texts")
        return dict(found)

    def table(self, name: str) -> Fields:
        return Fields(self._get(name, _REQUIRED), self.place(name), self._fault)

    def tables(self, name: str) -> Iterator[Fields]:
        """A list of tables; a missing one is empty."""
        found = self._get(name, [])
        if not isinstance(found, list):
            raise self.wrong(name, "is not a list")
        for number, each in enumerate(found):
            yield Fields(each, f"{self.place(name)}[{number}]", self._fault)

    def finish(self) -> None:
        """Nothing else may be there: a field with a slip in its name would be lost."""
        for name in self._body:
            if name not in self._asked:
                raise self.wrong(name, "is no field that is known")

    def place(self, name: str) -> str:
        return f"{self._where}.{name}" if self._where else name

    def wrong(self, name: str, why: str) -> MusterError:
        return self._fault(f"{self.place(name)} {why}")

    def _get(self, name: str, default: object) -> Any:
        self._asked.add(name)
        if name in self._body:
            return self._body[name]
        if default is _REQUIRED:
            raise self.wrong(name, "is missing")
        return default
