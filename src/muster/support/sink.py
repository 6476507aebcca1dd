# SPDX-License-Identifier: Apache-2.0
"""Where what is collected goes: a folder with bounds, and nothing secret gets into it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from muster.frozen import dataclass
from muster.release.off_loop import off_loop
from muster.support.copying import Clean
from muster.support.room import Kept, Room, write_pieces
from muster.support.secrets import clean_text, clean_value


@dataclass(frozen=True)
class Sink:
    """A folder that becomes a bundle, or a part of one."""

    folder: Path
    secrets: tuple[str, ...] = field(repr=False)
    """What is known to be secret, word by word."""
    room: Room

    def below(self, name: str) -> Sink:
        """A folder in it."""
        return replace(self, folder=self.folder / name)

    def clean(self, text: str) -> str:
        """A text without secrets."""
        return clean_text(text, self.secrets)

    def write(self, name: str, pieces: Iterable[str]) -> Kept:
        """Write one file of what is clean already."""
        is_whole = write_pieces(self.folder / name, pieces, self.room)
        return Kept() if is_whole else Kept(missed=((name, "there was no room for all of it"),))

    def write_lines(self, name: str, bodies: Iterable[Any]) -> Kept:
        """Write plain data, one JSON document in a line."""
        cleaned = (clean_value(each, self.secrets) for each in bodies)
        return self.write(name, (json.dumps(each, ensure_ascii=False) + "\n" for each in cleaned))

    async def keep_text(self, name: str, text: str, clean: Clean = clean_text) -> Kept:
        """Clean and write one file."""
        pieces = (clean(each, self.secrets) for each in (text,))
        return await off_loop(self.write, name, pieces)
