# SPDX-License-Identifier: Apache-2.0
"""What our own apt is told, and what is understood of what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.debian.apt import (
    Package,
    Wanted,
    explain_failure,
    find_percent,
    parse_packages,
    render_config,
    render_sources,
)
from muster.debian.mirror import Mirror
from muster.errors import ExternalError

HASH = "5b6825de4263824b78c4c51f6476414f3b4e89c2ab63e81dc8b9b5501e867cf6"
MIRROR = Mirror("http://m.example/debian", "http://m.example/debian-security")
WANTED = Wanted(("qemu-utils",), components=("main", "non-free-firmware"))


def uri_line(file: str) -> str:
    return f"'http://a/debian/pool/main/x/{file}' {file} 123 SHA256:{HASH}"


def test_packages_are_read_and_sorted() -> None:
    said = [uri_line("zstd_1.5.7-1_amd64.deb"), "some words", uri_line("qemu-utils_1%3a10.0+ds-0_amd64.deb")]
    packages = parse_packages("\n".join(said))
    assert [package.name for package in packages] == ["qemu-utils", "zstd"]
    uri = "http://a/debian/pool/main/x/qemu-utils_1%3a10.0+ds-0_amd64.deb"
    assert packages[0] == Package("qemu-utils", "1:10.0+ds-0", "amd64", HASH, 123, uri)
    assert packages[0].file_name == "qemu-utils_1%3a10.0+ds-0_amd64.deb"
    assert packages[0].pinned == "qemu-utils:amd64=1:10.0+ds-0"


def test_a_package_without_a_strong_hash_is_refused() -> None:
    with pytest.raises(ExternalError, match="unknown way"):
        parse_packages("'http://a/x_1_all.deb' x_1_all.deb 12 MD5Sum:8c82dcf89447f04e600379a1a1871f3b")


def test_sources_are_signed_and_complete() -> None:
    lines = render_sources(WANTED, MIRROR, Path("/k.gpg")).splitlines()
    assert lines == [
        "deb [signed-by=/k.gpg] http://m.example/debian trixie main non-free-firmware",
        "deb [signed-by=/k.gpg] http://m.example/debian trixie-updates main non-free-firmware",
        "deb [signed-by=/k.gpg] http://m.example/debian-security trixie-security main non-free-firmware",
    ]
    assert len(render_sources(WANTED, Mirror(MIRROR.archive)).splitlines()) == 2
    old = Mirror("http://snapshot.example.com/archive/debian/20260101T000000Z", "")
    assert render_sources(WANTED, old).count("check-valid-until=no") == 2


def test_of_the_machines_settings_only_the_way_to_the_network_is_kept() -> None:
    machine = (
        'Acquire::http::Proxy "http://proxy:3128";\n'
        'APT::Update::Post-Invoke:: "rm -rf /";\n'
        'Dir "/";\n'
        'Acquire::ForceIPv4 "true";\n'
    )
    config = render_config(Path("/cache/apt"), Path("/cache/debs"), WANTED, machine)
    assert 'Acquire::http::Proxy "http://proxy:3128";' in config
    assert 'Acquire::ForceIPv4 "true";' in config
    assert "Post-Invoke" not in config
    assert config.count('Dir "') == 1


def test_progress_is_told_in_percent() -> None:
    assert find_percent("dlstatus:3:42.5:Retrieving file 3 of 7") == 42.5
    assert find_percent("Get:1 http://a trixie/main amd64 zstd") is None


@pytest.mark.parametrize(
    ("said", "message", "hint"),
    [
        ("W: GPG error: NO_PUBKEY 6ED0E7B82643E131", "do not know Debian's trixie", "debian-archive-keyring"),
        ("E: Unable to locate package zstd", "has not all packages", "partial mirror"),
        ("E: You don't have enough free space in /x", "no space", "free some"),
        ("E: Failed to fetch http://a/x.deb  404", "did not give what is needed", "what was fetched is kept"),
        (
            "E: The repository 'http://a trixie InRelease' is not signed.",
            "did not give",
            "MUSTER_DEBIAN_MIRROR",
        ),
        (
            "E: Failed to fetch http://m.example/debian-security/x",
            "security updates",
            "or none where",
        ),
    ],
)
def test_failures_say_what_to_do(said: str, message: str, hint: str) -> None:
    error = explain_failure(ExternalError(f"apt-get failed; it said last:\n    {said}"), WANTED, MIRROR)
    assert message in error.message
    assert said in error.message
    assert hint in error.hint
