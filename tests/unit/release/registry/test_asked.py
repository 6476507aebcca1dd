# SPDX-License-Identifier: Apache-2.0
"""Requests are read as the specification and RFC 9110 want it."""

from __future__ import annotations

import pytest

from muster.release.registry.asked import (
    Kind,
    Target,
    is_name,
    is_tag,
    is_wellformed_digest,
    parse_target,
)

SHA256 = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/v2/", Target(Kind.VERSION)),
        ("/v2", Target(Kind.VERSION)),
        ("/v2/_catalog", Target(Kind.CATALOG)),
        ("/v2/a/manifests/v1", Target(Kind.MANIFEST, "a", "v1")),
        ("/v2/a/b/c/blobs/sha256:00", Target(Kind.BLOB, "a/b/c", "sha256:00")),
        ("/v2/a/tags/list", Target(Kind.TAGS, "a", "list")),
        ("/v2/a/referrers/sha256:00", Target(Kind.REFERRERS, "a", "sha256:00")),
        ("/v2/manifests/manifests/v1", Target(Kind.MANIFEST, "manifests", "v1")),
        ("/v2/a/blobs/manifests/v1", Target(Kind.MANIFEST, "a/blobs", "v1")),
        ("/v2/../etc/manifests/passwd", Target(Kind.MANIFEST, "../etc", "passwd")),
        ("/v2/a/tags/other", None),
        ("/v2/manifests/v1", None),
        ("/v2/a/b", None),
        ("/v2/a/_catalog", None),
        ("/v1/a/manifests/v1", None),
        ("/", None),
        ("", None),
        ("*", None),
    ],
)
def test_paths(path: str, target: Target | None) -> None:
    assert parse_target(path) == target


@pytest.mark.parametrize("name", ["a", "a/b", "a.b_c__d--e/1", "registry.example.com/team/tool", "a" * 255])
def test_names(name: str) -> None:
    assert is_name(name)


@pytest.mark.parametrize(
    "name",
    ["", "A", "a/", "/a", "a//b", "..", "a/../b", "a/./b", "a___b", "-a", "a:1/b", "a\0", "a\n", "a" * 256],
)
def test_what_is_no_name(name: str) -> None:
    assert not is_name(name)


def test_tags_and_digests() -> None:
    assert is_tag("v1.2_3-x")
    assert is_tag("latest")
    assert not is_tag(".hidden")
    assert not is_tag("a" * 129)
    assert not is_tag("tä")
    assert is_wellformed_digest(SHA256)
    assert is_wellformed_digest("sha512:" + "0" * 128)
    assert not is_wellformed_digest("sha256:totallywrong")
    assert not is_wellformed_digest(SHA256.upper())
    assert not is_wellformed_digest("../../etc/passwd")
    assert not is_wellformed_digest(SHA256 + "\n")
