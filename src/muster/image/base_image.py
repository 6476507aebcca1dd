# SPDX-License-Identifier: Apache-2.0
"""The one door through which a base image comes: a live ISO of the operating system, from wherever it is.

A new kind of source is one more entry in OPENERS.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import unquote

from muster.errors import UserError
from muster.frozen import dataclass
from muster.image.cache.hashes import stat_file
from muster.image.cache.store import Cache
from muster.image.iso.volume import check_volume
from muster.image.source import Remote, Source, parse_source
from muster.progress import Progress

if TYPE_CHECKING:
    from muster.image.download.http import Fetch


@dataclass(frozen=True)
class BaseImage:
    """A file that is here, is complete, and has this content."""

    path: Path
    sha256: str
    size_bytes: int
    origin: str
    """Where it came from, fit for messages."""


Opener: TypeAlias = Callable[[Source, Remote], BaseImage]


def obtain_base_image(
    source: str, *, cache: Cache, fetch: Fetch, progress: Progress, sha256: str = ""
) -> BaseImage:
    """Make a base image available. It stays where it is until the cache is closed.

    ``source`` is a path, or a URL as OPENSHIFT_INSTALL_OS_IMAGE_OVERRIDE has it; ``sha256`` is what it has to
    hash to, if that is not said by the source itself.
    """
    wanted = parse_source(source, sha256)
    opener = OPENERS.get(wanted.scheme)
    if opener is None:
        known = ", ".join(f"{scheme}://" for scheme in OPENERS if scheme)
        raise UserError(
            f"{wanted.shown} cannot be opened: nothing is known of {wanted.scheme}://",
            hint=f"name a path, or a URL that begins with {known}",
        )
    return opener(wanted, Remote(cache, fetch, progress, time.sleep))


def _open_path(source: Source, remote: Remote) -> BaseImage:
    """A local file is used where it is, never copied; an unchanged one is not read again."""
    path = Path(source.location)
    _refuse_packed(path)
    stat_file(path)
    check_volume(path, source.shown)  # First: it costs nothing, and hashing a gigabyte does.
    hashed = remote.cache.hash_of(path, remote.progress)
    if source.sha256 and hashed.sha256 != source.sha256:
        raise UserError(
            f"{path} has the sha256 {hashed.sha256}, expected {source.sha256}",
            hint="get the image again, or correct the hash",
        )
    remote.cache.hold(hashed.sha256)  # What was derived from it stays, too.
    return BaseImage(path.resolve(), hashed.sha256, hashed.size_bytes, source.shown)


def _refuse_packed(path: Path) -> None:
    if path.suffix.lower() in (".gz", ".xz"):
        tool = "gunzip" if path.suffix.lower() == ".gz" else "unxz"
        raise UserError(
            f"{path} is compressed, and local files are used where they are",
            hint=f"unpack it with `{tool} --keep {path.name}`, then name the .iso",
        )


def _open_file_url(source: Source, remote: Remote) -> BaseImage:
    host, slash, path = source.location.partition("/")
    if not slash or host not in ("", "localhost"):
        raise UserError(
            f"{source.shown} is not a file of this machine", hint="write file:///PATH, or the path"
        )
    local = unquote(f"/{path}")
    return _open_path(Source("", local, local, source.sha256), remote)


def _open_url(source: Source, remote: Remote) -> BaseImage:
    from muster.image.remote import obtain_remote

    record = obtain_remote(source, remote)
    path = remote.cache.places.image(record.sha256)
    return BaseImage(path, record.sha256, record.size_bytes, source.shown)


OPENERS: Final[Mapping[str, Opener]] = {
    "": _open_path,
    "file": _open_file_url,
    "http": _open_url,
    "https": _open_url,
}
