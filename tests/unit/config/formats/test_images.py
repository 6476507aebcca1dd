# SPDX-License-Identifier: Apache-2.0
"""Names of images and repositories, as container tools read them."""

from __future__ import annotations

import pytest

from muster.config.formats.images import covers, host_of, image_fault, repaired_repository, repository_fault

DIGEST = "sha256:" + "0123456789abcdef" * 4


@pytest.mark.parametrize(
    "name",
    [
        "quay.io/ocp/release-x.y",
        "mirror.example.com:5000",
        "mirror.example.com",
        "registry:5000/a",
        "localhost/a__b/c---d",
        "192.0.2.1:5000/ocp",
        "[2001:db8::1]:5000/ocp",
        "Mirror.Example.com/ocp",
    ],
)
def test_repositories(name: str) -> None:
    assert repository_fault(name) == ""


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("https://mirror.example.com/ocp", "mirror.example.com/ocp"),
        ("docker://mirror.example.com:5000/ocp/", "mirror.example.com:5000/ocp"),
        ("mirror.example.com:5000/ocp/", "mirror.example.com:5000/ocp"),
        ("mirror.example.com:5000/ocp:4.21", "mirror.example.com:5000/ocp"),
        (f"mirror.example.com/ocp@{DIGEST}", "mirror.example.com/ocp"),
        ("mirror.example.com/OCP", None),
        ("ocp/release", None),
        ("mirror.example.com:port/ocp", None),
        ("mirror.example.com:99999/ocp", None),
        ("mirror example.com/ocp", None),
        ("mirror.example.com//ocp", None),
        ("mirror.example.com/o..p", None),
        ("2001:db8::1/ocp", None),
        ("", None),
        ("mirror.example.com/" + "a" * 250, None),
    ],
)
def test_other_texts(name: str, right: str | None) -> None:
    assert repository_fault(name)
    assert repaired_repository(name) == right


@pytest.mark.parametrize(
    "name",
    [
        "registry.example.com/a:tag",
        f"registry.example.com/a:tag@{DIGEST}",
        f"r:5000/a@{DIGEST}",
        "r.example.com/a",
    ],
)
def test_images(name: str) -> None:
    assert image_fault(name) == ""


@pytest.mark.parametrize(
    "name",
    [
        "",
        "a:tag",
        "https://r.example.com/a",
        "r.example.com/a@sha256:12",
        "r.example.com/a:b:c",
        "r.example.com/A",
    ],
)
def test_no_images(name: str) -> None:
    assert image_fault(name)


def test_covers() -> None:
    assert covers("quay.io", "quay.io/a")
    assert covers("quay.io/a", "quay.io/a")
    assert not covers("quay.io/a", "quay.io/ab")


def test_hosts() -> None:
    assert host_of("[2001:db8::1]:5000") == "2001:db8::1"
    assert host_of("192.0.2.1:5000") == "192.0.2.1"
