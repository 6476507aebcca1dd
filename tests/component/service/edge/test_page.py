# SPDX-License-Identifier: Apache-2.0
"""The page for browsers: which file a path means, and who gets it packed."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import pytest

from muster.service.edge.page import Page, find_file, is_file_name, load_files, takes_gzip

SCRIPT = b"console.log(1)\n" * 100
INDEX = b"<!doctype html><title>Muster</title>"


def build(folder: Path) -> Path:
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html.gz").write_bytes(gzip.compress(INDEX))
    (folder / "assets/index-1a2b.js.gz").write_bytes(gzip.compress(SCRIPT))
    (folder / "assets/text-3c4d.woff2").write_bytes(b"font")
    (folder / "notes.xyz").write_bytes(b"of no kind that browsers know")
    return folder


def ask(page: Page, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    sent: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def receive() -> MutableMapping[str, Any]:
        raise AssertionError("nothing is read")

    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "path": path, "method": method, "headers": named}
    asyncio.run(page(scope, receive, send))
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], found, b"".join(each.get("body", b"") for each in sent[1:])


def test_who_can_unpack_gets_it_packed_and_others_unpacked(tmp_path: Path) -> None:
    page = Page(build(tmp_path / "web"))
    status, headers, body = ask(page, "/assets/index-1a2b.js", accept_encoding="br, gzip")
    assert (status, headers["content-encoding"]) == (200, "gzip")
    assert gzip.decompress(body) == SCRIPT
    assert headers["content-length"] == str(len(body))
    status, plain, body = ask(page, "/assets/index-1a2b.js")
    assert (status, body) == (200, SCRIPT)
    assert "content-encoding" not in plain
    assert plain["etag"] != headers["etag"]
    assert plain["content-type"] == "text/javascript; charset=utf-8"


def test_names_that_change_are_kept_for_ever_and_the_page_is_asked_for_again(tmp_path: Path) -> None:
    page = Page(build(tmp_path / "web"))
    assert "immutable" in ask(page, "/assets/text-3c4d.woff2")[1]["cache-control"]
    status, headers, body = ask(page, "/")
    assert (status, body, headers["cache-control"]) == (200, INDEX, "no-cache")
    again = ask(page, "/", if_none_match=headers["etag"])
    assert (again[0], again[2]) == (304, b"")
    assert ask(page, "/", if_none_match='"other"')[0] == 200


@pytest.mark.parametrize("path", ["/", "/login", "/clusters/1/networking", "/index.html"])
def test_the_page_knows_its_own_paths(path: str, tmp_path: Path) -> None:
    assert ask(Page(build(tmp_path / "web")), path)[2] == INDEX


@pytest.mark.parametrize(
    "path", ["/assets/old-9f.js", "/assets/", "/favicon.ico", "/../secret.txt", "/notes.xyz", "/a/.env"]
)
def test_a_file_that_is_not_there_is_not_the_page(path: str, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("not of the page")
    status, headers, _ = ask(Page(build(tmp_path / "web")), path)
    assert (status, headers["content-type"]) == (404, "application/json")


def test_a_look_at_the_head_has_no_body(tmp_path: Path) -> None:
    status, headers, body = ask(Page(build(tmp_path / "web")), "/", "HEAD")
    assert (status, headers["content-length"], body) == (200, str(len(INDEX)), b"")


def test_a_page_that_was_not_built_says_so(tmp_path: Path) -> None:
    page = Page(tmp_path / "none")
    assert not page.is_built
    status, headers, body = ask(page, "/clusters/1")
    assert (status, headers["content-type"]) == (503, "text/html; charset=utf-8")
    assert b"make web" in body
    assert ask(page, "/assets/index-1a2b.js")[0] == 404


def test_files_that_go_away_or_break_are_no_traceback(tmp_path: Path) -> None:
    page = Page(build(tmp_path / "web"))
    (tmp_path / "web/assets/text-3c4d.woff2").unlink()
    (tmp_path / "web/index.html.gz").write_bytes(gzip.compress(INDEX)[:-9])
    assert ask(page, "/assets/text-3c4d.woff2")[0] == 503
    assert ask(page, "/")[0] == 503


@pytest.mark.parametrize(
    ("accepted", "is_so"),
    [
        (b"", False),
        (b"gzip", True),
        (b"deflate, GZIP;q=0.5", True),
        (b"*", True),
        (b"br, gzip ; q=0", False),
        (b"gzip;q=0.000", False),
        (b"gzipped", False),
        (b"identity", False),
    ],
)
def test_who_can_unpack(accepted: bytes, is_so: bool) -> None:
    assert takes_gzip(accepted) is is_so


def test_what_is_a_file() -> None:
    assert is_file_name("/assets/x")
    assert is_file_name("/robots.txt")
    assert not is_file_name("/clusters/a.b/networking")
    assert find_file({}, "/") is None
    assert load_files(Path("nowhere")) == {}
