# SPDX-License-Identifier: Apache-2.0
"""Where the cache is, and what lies where in it.

images/<sha256>.iso, .json    whole images that were verified, and where they came from
urls/<key>.json               what a URL gave, so that an unchanged file is not fetched twice
parts/<key>.part, .json       downloads that can go on
hashes/<key>.json             what local files hash to
leaves/<sha256>/<name>        what was derived from an image
locks/                        who is at work

What is not of images is laid out by those who make it, and listed in `made.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from muster.errors import ExternalError, UserError, cannot
from muster.frozen import dataclass

VARIABLE: Final = "MUSTER_CACHE"
NOWHERE: Final = Path("/dev/null/muster")
"""A place where nothing can be: what the cache is when nobody says where, and there is no home directory."""


def find_cache_root(given: str | None, env: Mapping[str, str], home: Callable[[], Path]) -> Path:
    """The flag, else the variable, else the XDG base directory; NOWHERE when there is none."""
    if given is not None and not given.strip():
        raise UserError("--cache-dir is empty", hint="name a directory, or leave the flag out")
    if given or env.get(VARIABLE):
        return Path(given or env[VARIABLE]).absolute()
    xdg = env.get("XDG_CACHE_HOME", "")
    if xdg.startswith("/"):  # The specification wants relative ones to be ignored.
        return Path(xdg) / "muster"
    try:
        place = home()
    except RuntimeError:
        return NOWHERE
    return place / ".cache" / "muster" if place.is_absolute() else NOWHERE


@dataclass(frozen=True)
class Places:
    """The paths of a cache."""

    root: Path

    def image(self, sha256: str) -> Path:
        return self.root / "images" / f"{sha256}.iso"

    def image_record(self, sha256: str) -> Path:
        return self.root / "images" / f"{sha256}.json"

    def url(self, url: str) -> Path:
        return self.root / "urls" / f"{key_of(url)}.json"

    def part(self, url: str) -> Path:
        return self.root / "parts" / f"{key_of(url)}.part"

    def hash(self, path: Path, look: str) -> Path:
        return self.root / "hashes" / f"{key_of(f'{path}|{look}')}.json"

    def leaf(self, sha256: str, name: str) -> Path:
        if not name or name.startswith(".") or "/" in name:
            raise ValueError(f"{name!r} is not the name of a file")
        return self.root / "leaves" / sha256 / name

    def lock(self, kind: str, key: str) -> Path:
        return self.root / "locks" / f"{kind}-{key}.lock"


def cannot_keep(path: Path, error: OSError) -> ExternalError:
    """Something could not be written to the cache, which has a flag of its own."""
    failed = cannot("write", path, error)
    return ExternalError(failed.message, hint=failed.hint.replace("--dir", "--cache-dir"))


def key_of(text: str) -> str:
    """A file name for a text: short, and without any of its secrets."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]
