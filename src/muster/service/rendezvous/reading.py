# SPDX-License-Identifier: Apache-2.0
"""Reads what a medium says. Where its hosts meet is all that most hosts ask it, so that costs little."""

from __future__ import annotations

from pathlib import Path

from muster.errors import MediaError, MusterError
from muster.model.medium import RELEASE_KEY
from muster.model.meeting import ENVIRONMENT, Meeting, parse_meeting


def load_meeting(root: Path) -> Meeting:
    """Where to go; a MediaError when the medium does not say."""
    path = root / ENVIRONMENT.lstrip("/")
    found = parse_meeting(read_text(path))
    if found is None:
        raise unusable(path, "it does not say where the hosts meet")
    return found


def read_text(path: Path) -> str:
    """A file of the medium."""
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise unusable(path, (reason or str(error)).lower()) from error


def read_release_key(root: Path) -> str:
    """The public key (PEM) that signatures of releases are checked with; empty if the medium has none.

    A file without a key is an error: nothing would be checked.
    """
    path = root / RELEASE_KEY.lstrip("/")
    if not path.exists():
        return ""
    from muster.signature import parse_public_key

    text = read_text(path)
    try:
        parse_public_key(text.encode(), path)
    except MusterError as error:
        raise unusable(path, "it does not hold a public key") from error
    return text


def unusable(path: Path, why: str) -> MediaError:
    """What is said of a medium on which something is wrong."""
    return MediaError(
        f"the medium that this host booted cannot be used: {path}: {why}",
        hint="make it again with `muster agent create image`, and boot all hosts from it",
    )
