# SPDX-License-Identifier: Apache-2.0
"""Files that are sent as parts of a form, read while they come."""

from __future__ import annotations

from collections.abc import AsyncIterator
from email.parser import BytesHeaderParser
from email.policy import HTTP
from typing import Final

from muster.service.refusals import BadRequest

_MOST_HEAD: Final = 16 << 10
"""Bytes of the headers of one part."""
_MOST_PARTS: Final = 100


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
    parsed = BytesHeaderParser(policy=HTTP).parsebytes(
        b"content-type: " + content_type.encode("latin-1") + b"\r\n\r\n"
    )
    if parsed.get_content_type() != "multipart/form-data":
        return b""
    boundary = parsed.get_boundary()
    if not boundary:
        raise BadRequest("the form has no boundary", hint="send it with a client that makes forms")
    return b"\r\n--" + boundary.encode("latin-1", "replace")


def _name(head: bytes) -> str | None:
    parsed = BytesHeaderParser(policy=HTTP).parsebytes(head.lstrip() + b"\r\n\r\n")
    found = parsed.get_param("name", header="content-disposition")
    return found if isinstance(found, str) else None


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
        while (at := self._waiting.find(b"\r\n\r\n")) < 0:
            if len(self._waiting) > _MOST_HEAD:
                raise BadRequest("a part of the form has headers without an end", hint="send plain forms")
            if not await self._more():
                return None
        head, self._waiting = self._waiting[:at], self._waiting[at + 4 :]
        return head
