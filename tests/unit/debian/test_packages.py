# SPDX-License-Identifier: Apache-2.0
"""Packages are fetched once, with the right hash, and a mirror that fails loses nothing."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from muster.debian import packages
from muster.debian.apt import Wanted
from muster.debian.mirror import Mirror
from muster.debian.packages import FRESH_S, Shelf, check_space, fetch_packages
from muster.errors import ExternalError
from muster.folders import TAG_FILE
from tests.stand_in import Asked, StandIn

WANTED = Wanted(("zstd",))
DEB = b"a package"
NAME = "zstd_1_amd64.deb"


class Mirrored(StandIn):
    """An apt-get that has one package, and does what a test tells it."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[str] = []
        self.failures = 0
        self.data = DEB

    def answer(self, asked: Asked) -> str:
        if asked.words[0] == "apt-config":
            return ""
        if "--print-uris" in asked.words:
            return f"'http://a/{NAME}' {NAME} {len(DEB)} SHA256:{hashlib.sha256(DEB).hexdigest()}"
        self.done.append("update" if "update" in asked.words else "download")
        if "--download-only" in asked.words:
            if self.failures:
                self.failures -= 1
                raise ExternalError("apt-get failed; it said last:\n    E: Failed to fetch http://a/x  404")
            assert asked.heard is not None
            asked.heard("dlstatus:1:50.0:Retrieving file 1 of 1")
            config = Path((asked.circumstances.env or {})["APT_CONFIG"])
            (config.parent.parent / "debs" / NAME).write_bytes(self.data)
        return ""


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "_check_machine", lambda: None)


@pytest.fixture
def mirrored() -> Mirrored:
    return Mirrored()


@pytest.fixture
def shelf(tmp_path: Path, mirrored: Mirrored) -> Shelf:
    return Shelf(tmp_path, Mirror("http://m.example/debian"), mirrored)


def test_a_package_is_fetched_once(shelf: Shelf, mirrored: Mirrored) -> None:
    told: list[tuple[int, int]] = []
    found = fetch_packages(WANTED, shelf, fetched=lambda done, total: told.append((done, total)))
    assert shelf.path(found[0]).read_bytes() == DEB
    assert (shelf.cache_root / TAG_FILE).exists(), "`muster cache` empties only what is marked as ours"
    assert told == [(4, 9), (9, 9)]
    assert fetch_packages(WANTED, shelf) == found
    assert mirrored.done == ["update", "download"]


def test_a_damaged_package_is_fetched_again(shelf: Shelf, mirrored: Mirrored) -> None:
    found = fetch_packages(WANTED, shelf)
    shelf.path(found[0]).write_bytes(b"A package")
    fetch_packages(WANTED, shelf)
    assert shelf.path(found[0]).read_bytes() == DEB
    assert mirrored.done == ["update", "download", "download"]


def test_lists_of_yesterday_are_not_believed(shelf: Shelf, mirrored: Mirrored, tmp_path: Path) -> None:
    fetch_packages(WANTED, shelf)
    now = shelf.clock()
    fetch_packages(
        WANTED, Shelf(tmp_path, Mirror("http://m.example/debian"), mirrored, clock=lambda: now + FRESH_S)
    )
    assert mirrored.done == ["update", "download", "update"]


def test_when_a_package_is_gone_the_lists_are_got_again(shelf: Shelf, mirrored: Mirrored) -> None:
    found = fetch_packages(WANTED, shelf)
    shelf.path(found[0]).unlink()
    mirrored.failures = 1
    fetch_packages(WANTED, shelf)
    assert mirrored.done == ["update", "download", "download", "update", "download"]


def test_a_mirror_that_fails_says_to_go_on_later(shelf: Shelf, mirrored: Mirrored) -> None:
    mirrored.failures = 1
    with pytest.raises(ExternalError, match="did not give what is needed") as caught:
        fetch_packages(WANTED, shelf)
    assert "what was fetched is kept" in caught.value.hint
    fetch_packages(WANTED, shelf)


def test_a_mirror_that_lies_is_caught(shelf: Shelf, mirrored: Mirrored) -> None:
    mirrored.data = b"something"
    with pytest.raises(ExternalError, match="is not what Debian's list says"):
        fetch_packages(WANTED, shelf)


def test_too_little_space_is_said_with_the_arithmetic(tmp_path: Path) -> None:
    with pytest.raises(ExternalError, match=r"things need 1000000000000 MB in .* MB are free"):
        check_space(tmp_path, 10**18, "things")
