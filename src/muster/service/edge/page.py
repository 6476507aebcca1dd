# SPDX-License-Identifier: Apache-2.0
"""The page for browsers: files that were built once, kept compressed, and handed out as they are.

Names below `assets/` change with their content, so browsers keep them for ever; all others are asked for
again each time, which costs an empty answer. A path that names no file is one that the page itself knows how
to show. What was read or unpacked once stays in memory, a few MiB in all, so that no answer has a copy of it.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from muster.errors import cannot
from muster.frozen import dataclass
from muster.service.edge.answers import Headers, Receive, Scope, Send, header_of, send_error

BUILT: Final = Path(__file__).parents[1] / "web"
"""Where `bin/web` puts the files, and where packages have them."""
PACKED: Final = ".gz"
_INDEX: Final = "/index.html"
_ASSETS: Final = "/assets/"
_KINDS: Final = {
    ".css": b"text/css; charset=utf-8",
    ".html": b"text/html; charset=utf-8",
    ".ico": b"image/x-icon",
    ".js": b"text/javascript; charset=utf-8",
    ".json": b"application/json",
    ".png": b"image/png",
    ".svg": b"image/svg+xml",
    ".txt": b"text/plain; charset=utf-8",
    ".webp": b"image/webp",
    ".woff2": b"font/woff2",
}
_FOR_EVER: Final = b"public, max-age=31536000, immutable"
_ASK_AGAIN: Final = b"no-cache"
_GZIP: Final = re.compile(rb"(?:^|,)\s*(?:gzip|\*)\s*(?:;\s*q=(?P<weight>[0-9.]+)\s*)?(?=,|$)", re.IGNORECASE)
_NOT_BUILT: Final = b"""\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Muster</title></head>
<body><h1>The page was not built</h1>
<p>This service runs, but its page for browsers is not there.</p>
<p>In a clone, <code>make web</code> builds it; then start the service again. The interface works without it:
<a href="/openapi.json">/openapi.json</a>.</p></body></html>
"""


@dataclass(frozen=True)
class PageFile:
    """One file of the page."""

    path: Path
    kind: bytes
    is_packed: bool
    lasts: bytes
    tag: bytes


class Page:
    """An ASGI application for GET and HEAD of everything that is not of the interface."""

    def __init__(self, folder: Path = BUILT) -> None:
        self._files = load_files(folder)
        self._bodies: dict[bytes, bytes] = {}
        """By tag."""

    @property
    def is_built(self) -> bool:
        """Whether there is anything to show."""
        return _INDEX in self._files

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        path, head = scope["path"], scope["method"] == "HEAD"
        found = find_file(self._files, path)
        if found is not None:
            await self._give(found, scope, send, head=head)
        elif self.is_built or is_file_name(path):
            await send_error(send, 404, f"there is no {path}")
        else:
            await _send(send, 503, _NOT_BUILT, [(b"content-type", _KINDS[".html"])], head=head)

    async def _give(self, found: PageFile, scope: Scope, send: Send, *, head: bool) -> None:
        is_packed = found.is_packed and takes_gzip(header_of(scope, b"accept-encoding"))
        # The same thing packed and unpacked is not the same bytes.
        tag = found.tag if is_packed or not found.is_packed else found.tag[:-1] + b'-p"'
        headers = [(b"etag", tag), (b"cache-control", found.lasts), (b"vary", b"accept-encoding")]
        if tag in header_of(scope, b"if-none-match"):
            await send({"type": "http.response.start", "status": 304, "headers": headers})
            await send({"type": "http.response.body"})
            return
        body = self._bodies.get(tag)
        if body is None:
            try:
                body = await asyncio.to_thread(self._load, found, tag)
            except (OSError, EOFError, ValueError):
                await send_error(send, 503, "the page is being built anew; reload it in a moment")
                return
        headers.append((b"content-type", found.kind))
        if is_packed:
            headers.append((b"content-encoding", b"gzip"))
        await _send(send, 200, body, headers, head=head)

    def _load(self, found: PageFile, tag: bytes) -> bytes:
        """Read a file, and unpack it if its tag is that of the unpacked one."""
        if tag not in self._bodies:
            data = found.path.read_bytes()
            self._bodies[tag] = data if tag == found.tag else gzip.decompress(data)
        return self._bodies[tag]


def load_files(folder: Path) -> Mapping[str, PageFile]:
    """The files of a folder by the path that browsers ask for; none when the page was not built."""
    return dict(_load(folder)) if folder.is_dir() else {}


def _load(folder: Path) -> Iterator[tuple[str, PageFile]]:
    for path in sorted(folder.rglob("*")):
        is_packed = path.suffix == PACKED
        name = f"/{path.relative_to(folder).as_posix()}".removesuffix(PACKED)
        kind = _KINDS.get(Path(name).suffix)
        if kind is None or not path.is_file():
            continue
        try:
            tag = hashlib.blake2b(path.read_bytes(), digest_size=12).hexdigest()
        except OSError as error:
            raise cannot("read", path, error) from error
        lasts = _FOR_EVER if name.startswith(_ASSETS) else _ASK_AGAIN
        yield name, PageFile(path, kind, is_packed, lasts, f'"{tag}"'.encode("ascii"))


def find_file(files: Mapping[str, PageFile], path: str) -> PageFile | None:
    """What a path means: the file of that name, or the page itself, which knows what to show there."""
    return files.get(path) or (None if is_file_name(path) else files.get(_INDEX))


def is_file_name(path: str) -> bool:
    """Whether a path is that of a file, and not one of the page's own."""
    return path.startswith(_ASSETS) or "." in path.rpartition("/")[2]


def takes_gzip(accepted: bytes) -> bool:
    """Whether a client says that it can unpack."""
    found = _GZIP.search(accepted)
    if found is None:
        return False
    weight = found["weight"]
    return weight is None or bool(weight.strip(b"0."))


async def _send(send: Send, status: int, body: bytes, headers: Headers, *, head: bool) -> None:
    sized = [*headers, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": sized})
    await send({"type": "http.response.body", "body": b"" if head else body})
