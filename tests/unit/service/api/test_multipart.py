# SPDX-License-Identifier: Apache-2.0
"""Files in forms, as clients send them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import requests

from muster.lab.sim.shell import finish
from muster.service.api.multipart import stream_upload
from muster.service.refusals import BadRequest

FORM = (
    b'--x\r\nContent-Disposition: form-data; name="other"\r\n\r\nvalue\r\n'
    b'--x\r\nContent-Disposition: form-data; name="upfile"; filename="a.tar.gz"\r\n'
    b"Content-Type: application/gzip\r\n\r\n\x1f\x8b\r\n--y\x00\r\n--x--\r\n"
)

HEAVY = FORM.replace(b"gzip\r\n\r\n", b"gzip" + b"\r\na: ((((" * 60_000 + b"\r\n\r\n")
"""With 600 kB of headers, in one piece."""


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
    assert read_upload(f"application/{'(' * 14_000}", b"abc", "upfile") == b"abc"
    assert read_upload("multipart/mixed; boundary=x", FORM, "upfile") == FORM


@pytest.mark.parametrize(
    "content_type",
    [
        "multipart/form-data; boundary=x",
        'multipart/form-data; boundary="x"',
        "Multipart/Form-Data;charset=utf-8;;Boundary=x;",
        r'multipart/form-data; a="\"; boundary=y"; boundary="\x"',
        "multipart/form-data ; a*=utf-8''%22 ;\tboundary = \"x\" ; boundary=y",
    ],
)
def test_the_boundary_is_found_as_clients_write_it(content_type: str) -> None:
    assert read_upload(content_type, FORM, "other") == b"value"


@pytest.mark.parametrize(
    "boundary",
    [
        "0f8a5c2b9d3e4f60718293a4b5c6d7e8",
        "------------------------d74496d66958873e",
        "b61f0f4c1f0c8e0f5f6d0e3d2c1b0a99887766554433221100ffeeddccbb",
        "===============7330845974216740156==",
        "a" * 70,
        "a'()+_,-./:=? b",
    ],
)
def test_boundaries_of_clients(boundary: str) -> None:
    body = FORM.replace(b"--x", f"--{boundary}".encode())
    assert read_upload(f'multipart/form-data; boundary="{boundary}"', body, "other") == b"value"
    if " " not in boundary:
        assert read_upload(f"multipart/form-data; boundary={boundary}", body, "other") == b"value"


@pytest.mark.parametrize(
    "disposition",
    [
        'Content-Disposition: form-data; name="upfile"; filename="a; name=\\"other\\".tar"',
        'Content-Disposition: form-data; filename="a; name=\\"other\\".tar"; name="upfile"',
        'Content-Disposition: form-data; name="upfile"; filename="C:\\logs\\"',
        'Content-Disposition: form-data; name="upfile"; filename="a%22b\xc3\xa4.tar"',
        "Content-Disposition: form-data; name=\"upfile\"; filename*=utf-8''%C3%A4.tar",
        "content-disposition:form-data;name=upfile;filename=a.tar",
        'CONTENT-DISPOSITION: form-data; NAME="upfile"',
        r'Content-Disposition: form-data; name="up\file"',
        'Content-Disposition: form-data;\r\n\tname="upfile";\r\n filename="a.tar"',
        'Content-Type: text/plain; name="other"\r\nContent-Disposition: form-data; name="upfile"\r\nA: b',
        f'Content-Disposition: form-data; name="upfile"; filename="{"a" * 1900}"',
    ],
)
def test_the_field_is_found_as_clients_write_it(disposition: str) -> None:
    """Go and older versions of curl write a quote with a backslash; requests and curl write %22."""
    body = f"--x  \r\n{disposition}\r\n\r\nvalue\r\n--x--\r\n".encode("latin-1")
    assert read_upload("multipart/form-data; boundary=x", body, "upfile") == b"value"


@pytest.mark.parametrize(
    "disposition",
    [
        'Content-Disposition: form-data; filename="upfile"; name="other"',
        'Content-Disposition: form-data; filename="a; name=upfile"',
        "Content-Disposition: form-data; name*=utf-8''upfile",
        'X-Content-Disposition: form-data; name="upfile"',
        'Content-Type: text/plain; name="upfile"',
        'Content-Disposition: form-data; name="upfile',
        "upfile",
    ],
)
def test_a_field_of_another_name_is_not_taken(disposition: str) -> None:
    body = f"--x\r\n{disposition}\r\n\r\nvalue\r\n--x--\r\n".encode("latin-1")
    with pytest.raises(BadRequest, match="no field upfile"):
        read_upload("multipart/form-data; boundary=x", body, "upfile")


@pytest.mark.parametrize("name", ["logs.tar.gz", 'a"b; name="x".tar', "a\\b\\", "\xe4\u20ac\r\n.tar", ";"])
def test_what_clients_in_python_send(name: str) -> None:
    files: dict[str, tuple[str, str | bytes]] = {
        "other": ("", "value"),
        "upfile": (name, b"\x1f\x8b\r\n--y\x00"),
    }
    sent = requests.Request("POST", "http://localhost/", files=files).prepare()
    assert isinstance(sent.body, bytes)
    assert read_upload(str(sent.headers["Content-Type"]), sent.body, "upfile", 7) == b"\x1f\x8b\r\n--y\x00"


@pytest.mark.parametrize(
    ("content_type", "body", "why"),
    [
        ("multipart/form-data", FORM, "no boundary"),
        ("multipart/form-data; boundary=z", FORM, "no field upfile"),
        ("multipart/form-data; boundary=x", b"--x", "no field upfile"),
        ("multipart/form-data; boundary=x", FORM[:-12], "breaks off"),
        ("multipart/form-data; boundary=x", b"--x\r\na: " + b"b" * 99_999, "more than 2 KiB of headers"),
        ("multipart/form-data; boundary=x", HEAVY, "more than 2 KiB of headers"),
        (f"multipart/form-data; boundary={'(' * 14_000}", FORM, "longer than 512"),
        (f"multipart/form-data{'; a=b' * 7000}; boundary=x", FORM, "longer than 512"),
        (f"multipart/form-data; boundary={'x' * 71}", FORM, "RFC 2046"),
        ('multipart/form-data; boundary="x\xe4"', FORM, "RFC 2046"),
        ('multipart/form-data; boundary="x "', FORM, "RFC 2046"),
        ('multipart/form-data; boundary=""', FORM, "no boundary"),
        ('multipart/form-data; boundary="x', FORM, "no boundary"),
        ("multipart/form-data; xboundary=x", FORM, "no boundary"),
        ("multipart/form-data; boundary=x", b"--x\r\n\r\n\r\n" * 1000, "no field upfile"),
    ],
)
def test_a_broken_form_is_refused(content_type: str, body: bytes, why: str) -> None:
    with pytest.raises(BadRequest, match=why):
        read_upload(content_type, body, "upfile")
