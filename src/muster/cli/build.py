# SPDX-License-Identifier: Apache-2.0
"""Which Muster this is: its version and, when it runs from a clone, the commit."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import muster

_SHOWN: Final = 12


def build_words() -> str:
    """Version and commit, as logs and reports have them."""
    commit = this_commit()
    return f"{muster.__version__}, commit {commit}" if commit else muster.__version__


def this_commit() -> str:
    """The commit that this Muster runs from; empty when it was installed as a package."""
    return find_commit(_clone())


def _clone() -> Path | None:
    source = Path(muster.__file__).parents[1]
    return source.parent if source.name == "src" else None


def find_commit(clone: Path | None) -> str:
    """The commit that is checked out, read from git's own files; empty when there is none."""
    if clone is None:
        return ""
    try:
        folder = clone / ".git"
        if folder.is_file():
            folder = clone / folder.read_text("utf-8").partition("gitdir:")[2].strip()
        head = (folder / "HEAD").read_text("utf-8").strip()
        name = head.removeprefix("ref: ")
        return (head if name == head else _resolved(folder, name))[:_SHOWN]
    except (OSError, ValueError):
        return ""


def _resolved(folder: Path, name: str) -> str:
    """What a branch points at; a worktree keeps branches in the folder that it shares with others."""
    shared = folder / "commondir"
    common = folder / shared.read_text("utf-8").strip() if shared.exists() else folder
    for place in (folder / name, common / name):
        if place.exists():
            return place.read_text("utf-8").strip()
    for line in (common / "packed-refs").read_text("utf-8").splitlines():
        commit, _, ref = line.partition(" ")
        if ref == name:
            return commit
    return ""
