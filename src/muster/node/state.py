# SPDX-License-Identifier: Apache-2.0
"""How far an installation is, so that one that was killed goes on safely: what is unsure is done again."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec

from muster.files import save_file
from muster.model.wire.steps import InstallCmdRequest
from muster.node.plan import Identity

Reached: TypeAlias = Literal["nothing", "written", "verified", "copied", "handed over"]
_ORDER: Final[tuple[Reached, ...]] = ("nothing", "written", "verified", "copied", "handed over")
_NAME: Final = "state.json"


class State(msgspec.Struct, frozen=True):
    """How far which installation is."""

    key: str
    reached: Reached = "nothing"

    def has(self, reached: Reached) -> bool:
        """Whether it is as far as that."""
        return _ORDER.index(self.reached) >= _ORDER.index(reached)


def make_key(request: InstallCmdRequest, disk: Identity, ignition: bytes) -> str:
    """Another request, another disk or another configuration is another installation."""
    parts = (msgspec.json.encode(request, order="sorted"), repr(disk).encode(), ignition)
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def load_state(folder: Path, key: str) -> State:
    """How far this installation is; nothing when that is not known, or when another one was under way."""
    try:
        found = msgspec.json.decode((folder / _NAME).read_bytes(), type=State)
    except (OSError, msgspec.DecodeError):
        return State(key)
    return found if found.key == key else State(key)


def has_begun(folder: Path) -> bool:
    """Whether an installation was begun from there."""
    return (folder / _NAME).exists()


def save_state(folder: Path, state: State) -> None:
    """Keep it, before anything else is done."""
    save_file(folder / _NAME, msgspec.json.encode(state), mode=0o600)
