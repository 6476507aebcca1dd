# SPDX-License-Identifier: Apache-2.0
"""Files in forms, as clients send them."""

from __future__ import annotations

import pytest

from muster.service.api.multipart import read_upload
from muster.service.refusals import BadRequest

FORM = (
    b'--x\r\nContent-Disposition: form-data; name="other"\r\n\r\nvalue\r\n'
    b'--x\r\nContent-Disposition: form-data; name="upfile"; filename="a.tar.gz"\r\n'
    b"Content-Type: application/gzip\r\n\r\n\x1f\x8b\r\n--y\x00\r\n--x--\r\n"
)


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
    ],
)
def test_a_broken_form_is_refused(content_type: str, body: bytes, why: str) -> None:
    with pytest.raises(BadRequest, match=why):
        read_upload(content_type, body, "upfile")
