# SPDX-License-Identifier: Apache-2.0
"""Files in forms, as clients send them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from muster.lab.sim.shell import finish
from muster.service.api.multipart import stream_upload
from muster.service.refusals import BadRequest

FORM = (
    b'--x\r\nContent-Disposition: form-data; name="other"\r\n\r\nvalue\r\n'
    b'--x\r\nContent-Disposition: form-data; name="upfile"; filename="a.tar.gz"\r\n'
    b"Content-Type: application/gzip\r\n\r\n\x1f\x8b\r\n--y\x00\r\n--x--\r\n"
)


def read_upload(content_type: str, body: bytes, field: str, size: int = 1 << 20) -> bytes:
    """The file, of a body that comes in pieces of a size."""

    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(body), size):
            yield body[start : start + size]

    async def read() -> bytes:
        return b"".join([piece async for piece in stream_upload(content_type, chunks(), field)])

    return finish(read())


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_it_does_not_matter_how_the_body_is_cut(size: int) -> None:
    found = read_upload("multipart/form-data; boundary=x", FORM, "upfile", size)
    assert found == b"\x1f\x8b\r\n--y\x00"


def test_the_file_comes_out_byte_for_byte() -> None:
    assert read_upload("multipart/form-data; boundary=x", FORM, "upfile") == b"\x1f\x8b\r\n--y\x00"
    assert read_upload('multipart/form-data; boundary="x"', FORM, "other") == b"value"


def test_a_body_that_is_no_form_is_the_file() -> None:
    assert read_upload("application/octet-stream", b"abc", "upfile") == b"abc"
    assert read_upload("", b"abc", "upfile") == b"abc"


@pytest.mark.parametrize(
    ("content_type", "body", "why"),
    [
        ("multipart/form-data", FORM, "no boundary"),
        ("multipart/form-data; boundary=z", FORM, "no field upfile"),
        ("multipart/form-data; boundary=x", b"--x", "no field upfile"),
        ("multipart/form-data; boundary=x", FORM[:-12], "breaks off"),
        ("multipart/form-data; boundary=x", b"--x\r\na: " + b"b" * 99_999, "headers without an end"),
        ("multipart/form-data; boundary=x", b"--x\r\n\r\n\r\n" * 1000, "no field upfile"),
    ],
)
def test_a_broken_form_is_refused(content_type: str, body: bytes, why: str) -> None:
    with pytest.raises(BadRequest, match=why):
        read_upload(content_type, body, "upfile")
