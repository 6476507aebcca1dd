# SPDX-License-Identifier: Apache-2.0
"""Files that are sent as parts of a form, read while they come."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Final

from muster.service.refusals import BadRequest

_MOST_TYPE: Final = 512
"""Characters of the Content-Type of a form."""
_MOST_HEAD: Final = 2 << 10
"""Bytes of the headers of one part."""
_MOST_PARTS: Final = 100
_BOUNDARY: Final = re.compile(r"[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]")
"""As in RFC 2046."""
_PARAMETER: Final = re.compile(r"""(?:\s*;)+\s*([^\s;="]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))""")
"""Its name, and its value: quoted or plain."""
_ESCAPED: Final = re.compile(r"\\(.)")
_FOLD: Final = re.compile(r"\r?\n(?=[ \t])")
_DISPOSITION: Final = re.compile(r"^content-disposition[ \t]*:([^;\n]*)(.*)", re.IGNORECASE | re.MULTILINE)
_PLAIN: Final = "send it as curl -F does"


async def stream_upload(content_type: str, chunks: AsyncIterator[bytes], field: str) -> AsyncIterator[bytes]:
    """The file of a form's field; a body that is no form is the file itself."""
    mark = _mark(content_type)
    if not mark:
        async for chunk in chunks:
            yield chunk
        return
    form = _Form(chunks, mark)
    async for _ in form.until_mark():
        pass  # The preamble has no meaning.
    for _ in range(_MOST_PARTS):
        if (head := await form.read_head()) is None:
            break
        is_wanted = _name(head) == field
        async for piece in form.until_mark():
            if is_wanted:
                yield piece
        if is_wanted and form.is_at_mark:
            return
        if is_wanted:
            raise BadRequest("the form breaks off", hint="send it again")
    raise BadRequest(f"the form has no field {field}", hint=f"send the file as {field}")


def _mark(content_type: str) -> bytes:
    """The boundary of a form; empty when the body is not a form."""
    kind, _, rest = content_type.partition(";")
    if kind.strip().lower() != "multipart/form-data":
        return b""
    if len(content_type) > _MOST_TYPE:
        raise BadRequest(f"the Content-Type of the form is longer than {_MOST_TYPE} characters", hint=_PLAIN)
    boundary = _parameter(f";{rest}", "boundary")
    if not boundary:
        raise BadRequest("the form has no boundary", hint="send it with a client that makes forms")
    if not _BOUNDARY.fullmatch(boundary):
        raise BadRequest("the boundary of the form is not as RFC 2046 has it", hint=_PLAIN)
    return b"\r\n--" + boundary.encode("ascii")


def _name(head: bytes) -> str | None:
    """The field that a part is for."""
    found = _DISPOSITION.search(_FOLD.sub("", head.decode("latin-1")))
    return None if found is None else _parameter(found[2], "name")


def _parameter(text: str, name: str) -> str | None:
    """The value of a parameter of a header: the first of that name, as far as they can be read."""
    at = 0
    while (found := _PARAMETER.match(text, at)) is not None:
        if found[1].lower() == name:
            return found[3] if found[2] is None else _ESCAPED.sub(r"\1", found[2])
        at = found.end()
    return None


class _Form:
    """A body with marks between its parts; no more of it is held than a mark and one chunk."""

    def __init__(self, chunks: AsyncIterator[bytes], mark: bytes) -> None:
        self._chunks, self._mark = chunks, mark
        self._waiting = b"\r\n"
        self.is_at_mark = False

    async def _more(self) -> bool:
        async for chunk in self._chunks:
            self._waiting += chunk
            return True
        return False

    async def until_mark(self) -> AsyncIterator[bytes]:
        """What comes before the next mark, or before the end."""
        self.is_at_mark = False
        while (at := self._waiting.find(self._mark)) < 0:
            # The end may be the beginning of a mark.
            ready = len(self._waiting) - len(self._mark) + 1
            if ready > 0:
                piece, self._waiting = self._waiting[:ready], self._waiting[ready:]
                yield piece
            if not await self._more():
                rest, self._waiting = self._waiting, b""
                yield rest
                return
        piece, self._waiting = self._waiting[:at], self._waiting[at + len(self._mark) :]
        self.is_at_mark = True
        yield piece

    async def read_head(self) -> bytes | None:
        """The headers of the next part; None when there is none."""
        if not self.is_at_mark:
            return None
        end = b"\r\n\r\n"
        while (at := self._waiting.find(end, 0, _MOST_HEAD + len(end))) < 0:
            if len(self._waiting) >= _MOST_HEAD + len(end):
                raise BadRequest(
                    f"a part of the form has more than {_MOST_HEAD >> 10} KiB of headers", hint=_PLAIN
                )
            if not await self._more():
                return None
        head, self._waiting = self._waiting[:at], self._waiting[at + 4 :]
        return head
