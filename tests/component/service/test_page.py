# SPDX-License-Identifier: Apache-2.0
"""The page for browsers, from a service that runs: beside the interface, and under the same rules."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.component.service.whole import open_service, play

INDEX = b"<!doctype html><title>Muster</title>"


def build(folder: Path) -> Path:
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html.gz").write_bytes(gzip.compress(INDEX))
    (folder / "assets/index-1a2b.js.gz").write_bytes(gzip.compress(b"let a = 1"))
    return folder


@pytest.mark.parametrize("path", ["/", "/clusters/1/networking", "/assets/index-1a2b.js", "/none.js"])
def test_browsers_are_told_what_they_may_do(path: str, tmp_path: Path) -> None:
    async def scene() -> None:
        async with (
            open_service(tmp_path, page=build(tmp_path / "web")) as whole,
            whole.session.get(whole.url + path) as got,
        ):
            policy = got.headers["Content-Security-Policy"]
            assert "default-src 'self'" in policy
            assert "frame-ancestors 'none'" in policy
            assert got.headers["X-Content-Type-Options"] == "nosniff"
            assert got.headers["X-Frame-Options"] == "DENY"
            assert got.headers["Referrer-Policy"] == "no-referrer"
            assert got.status == (404 if path == "/none.js" else 200)

    play(scene)


def test_the_interface_stays_the_interface(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path, page=build(tmp_path / "web")) as whole:
            for path, status in (
                ("/api/none", 404),
                ("/api", 404),
                ("/metrics", 401),
                ("/openapi.json", 200),
            ):
                async with whole.session.get(whole.url + path) as got:
                    assert (path, got.status) == (path, status)
                    assert got.content_type == "application/json"
            async with whole.session.post(whole.url + "/clusters/1") as got:
                assert got.status == 404
            async with whole.session.get(whole.url + "/") as got:
                assert await got.read() == INDEX

    play(scene)
