# SPDX-License-Identifier: Apache-2.0
"""The mirror that a machine uses is found, and nobody else's archive is taken for Debian's."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.debian.mirror import Mirror, Source, choose_mirror, find_mirror, parse_list, parse_sources
from muster.errors import UserError

DEB822 = """\
# made by the installer
Types: deb deb-src
URIs: http://mirror.example.org/debian/
Suites: bookworm
  bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: https://mirror.example.com/debian-security
Suites: bookworm-security
Components: main
"""


def test_deb822_is_read_with_its_continued_lines() -> None:
    assert list(parse_sources(DEB822)) == [
        Source("http://mirror.example.org/debian/", ("bookworm", "bookworm-updates"), ("main",)),
        Source("https://mirror.example.com/debian-security", ("bookworm-security",), ("main",)),
    ]


@pytest.mark.parametrize(
    "change", [("Types: deb\n", "Types: deb-src\n"), ("Suites:", "Enabled: no\nSuites:")]
)
def test_what_is_off_is_not_read(change: tuple[str, str]) -> None:
    block = "Types: deb\nURIs: http://a/debian\nSuites: trixie\nComponents: main\n"
    assert list(parse_sources(block))
    assert not list(parse_sources(block.replace(*change)))


def test_one_line_form_is_read_with_options_and_comments() -> None:
    text = (
        "deb [arch=amd64 signed-by=/x.gpg] http://a/debian bookworm main contrib # ours\n"
        "#deb http://b/debian bookworm main\n"
        "deb-src http://c/debian bookworm main\n"
    )
    assert list(parse_list(text)) == [Source("http://a/debian", ("bookworm",), ("main", "contrib"))]


def test_the_mirrors_of_the_machine_are_chosen() -> None:
    assert choose_mirror(parse_sources(DEB822)) == Mirror(
        "http://mirror.example.org/debian", "https://mirror.example.com/debian-security"
    )


@pytest.mark.parametrize(
    "line",
    [
        "deb https://download.example.com/linux/debian bookworm stable",
        "deb http://archive.example.com/ubuntu noble main",
        "deb cdrom:[Debian]/debian bookworm main",
        "deb http://snapshot.example.com/archive/debian/20250520T000000Z bookworm main",
        "deb https://apt.example.com/debian-addons bookworm main",
    ],
)
def test_other_archives_are_not_taken_for_debian(line: str) -> None:
    assert choose_mirror(parse_list(line)) == Mirror("")


def test_the_user_has_the_last_word(tmp_path: Path) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list.d" / "debian.sources").write_text(DEB822)
    assert find_mirror({}, tmp_path).archive == "http://mirror.example.org/debian"
    named = {"MUSTER_DEBIAN_MIRROR": "http://mine/debian/", "MUSTER_DEBIAN_SECURITY_MIRROR": "none"}
    assert find_mirror(named, tmp_path) == Mirror("http://mine/debian", "")
    assert find_mirror({"MUSTER_DEBIAN_MIRROR": "http://mine/debian"}, tmp_path / "nowhere").security == ""


def test_without_any_mirror_one_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="this machine's apt uses no mirror") as caught:
        find_mirror({}, tmp_path)
    assert "MUSTER_DEBIAN_MIRROR" in caught.value.hint


@pytest.mark.parametrize("uri", ["mirror.example.com/debian", "ftp://a/debian", "http:///debian"])
def test_what_is_no_address_is_refused(uri: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="MUSTER_DEBIAN_MIRROR is"):
        find_mirror({"MUSTER_DEBIAN_MIRROR": uri}, tmp_path)
