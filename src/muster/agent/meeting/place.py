# SPDX-License-Identifier: Apache-2.0
"""Where the choice is kept: the consoles of a host write a wish, one program sees to it and says how it is.

By its name the folder goes into no bundle. It is gone when the host restarts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, TypeVar

import msgspec

from muster.agent.meeting.announcement import Announcement
from muster.agent.meeting.choice import Standing, Wish
from muster.files import remove_file, save_file
from muster.model.meeting import GENERIC_MARK

FOLDER: Final = "run/muster/meeting-secrets"
_WISH: Final = "wish.json"
_STANDING: Final = "standing.json"
_FOUND: Final = "found.json"
_JOINED: Final = "joined.json"
T = TypeVar("T")


class Papers(msgspec.Struct, frozen=True):
    """What a host that joined was given."""

    environment: str
    token: str
    authority: str
    """PEM."""


class MeetingPlace:
    """The files of the choice, below the root of a host."""

    def __init__(self, root: Path) -> None:
        self._root, self._folder = root, root / FOLDER

    @property
    def is_generic(self) -> bool:
        """Whether the medium leaves the choice to people."""
        return (self._root / GENERIC_MARK.lstrip("/")).exists()

    @property
    def paths(self) -> tuple[Path, ...]:
        """What changes when something is new for the consoles."""
        return self._folder / _STANDING, self._folder / _FOUND

    def load_wish(self) -> Wish | None:
        """What somebody chose last."""
        return self._load(_WISH, Wish)

    def save_wish(self, wish: Wish) -> None:
        self._save(_WISH, wish)

    def load_standing(self) -> Standing:
        """How the host stands; at first everything is open."""
        return self._load(_STANDING, Standing) or Standing()

    def save_standing(self, standing: Standing) -> None:
        self._save(_STANDING, standing)

    def load_found(self) -> tuple[Announcement, ...]:
        """Rendezvous hosts that are announced on the networks of this one."""
        return self._load(_FOUND, tuple[Announcement, ...]) or ()

    def save_found(self, found: tuple[Announcement, ...]) -> None:
        self._save(_FOUND, found)

    def load_papers(self) -> Papers | None:
        """What the rendezvous host gave to this one."""
        return self._load(_JOINED, Papers)

    def save_papers(self, papers: Papers) -> None:
        self._save(_JOINED, papers)

    def remove_papers(self) -> None:
        remove_file(self._folder / _JOINED)

    def _load(self, name: str, kind: type[T]) -> T | None:
        try:
            return msgspec.json.decode((self._folder / name).read_bytes(), type=kind)
        except (OSError, msgspec.DecodeError):
            return None

    def _save(self, name: str, value: object) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        save_file(self._folder / name, msgspec.json.encode(value), mode=0o600)
