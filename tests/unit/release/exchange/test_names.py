# SPDX-License-Identifier: Apache-2.0
"""Which images are meant, and what they are called."""

from __future__ import annotations

import pytest

from muster.errors import UserError
from muster.release.oci.digest import digest_of
from muster.release.oci.manifest import OCI_MANIFEST, Descriptor
from muster.release.store.exchange.names import choose_names, settle_names
from muster.release.store.exchange.source import Found

ONE, TWO = (Descriptor(OCI_MANIFEST, digest_of(data), 1) for data in (b"1", b"2"))
REPOSITORY = "r.example.com/app"


@pytest.mark.parametrize(
    ("found", "given", "names"),
    [
        ([Found(ONE, "r.example.com/a:1")], "", ["r.example.com/a:1"]),
        ([Found(ONE, "r.example.com/a:1")], f"{REPOSITORY}:9", [f"{REPOSITORY}:9"]),
        ([Found(ONE, "r.example.com/a:1")], REPOSITORY, [f"{REPOSITORY}:1"]),
        ([Found(ONE, tag="v1")], REPOSITORY, [f"{REPOSITORY}:v1"]),
        ([Found(ONE)], REPOSITORY, [f"{REPOSITORY}:latest"]),
        ([Found(ONE)], f"{REPOSITORY}@{ONE.digest}", [f"{REPOSITORY}@{ONE.digest}"]),
        (
            [Found(ONE, tag="v1"), Found(TWO)],
            REPOSITORY,
            [f"{REPOSITORY}:v1", f"{REPOSITORY}@{TWO.digest}"],
        ),
        (
            [Found(ONE, "r.example.com/a:1"), Found(TWO, tag="v2")],
            REPOSITORY,
            ["r.example.com/a:1", f"{REPOSITORY}:v2"],
        ),
        (
            [Found(ONE, "r.example.com/a:1"), Found(ONE, "r.example.com/a:2")],
            f"{REPOSITORY}:9",
            [f"{REPOSITORY}:9"],
        ),
    ],
)
def test_names(found: list[Found], given: str, names: list[str]) -> None:
    assert list(settle_names(found, given)) == names


@pytest.mark.parametrize(
    ("found", "given", "why"),
    [
        ([Found(ONE)], "", "has no name"),
        ([Found(ONE, tag="latest")], "", "is called 'latest' only"),
        ([Found(ONE), Found(TWO)], f"{REPOSITORY}:1", "names one image, and there are 2"),
        ([Found(ONE, tag="not a tag"), Found(TWO)], REPOSITORY, "does not name an image"),
        ([Found(ONE)], "app", "does not name an image"),
        ([Found(ONE, f"{REPOSITORY}:1"), Found(TWO, f"{REPOSITORY}:1")], "", "two images are called"),
    ],
)
def test_names_that_cannot_be(found: list[Found], given: str, why: str) -> None:
    with pytest.raises(UserError, match=why):
        settle_names(found, given)


IMAGES = {"r.example.com/a/web:v1": 1, "r.example.com/a/db:v1": 2, "other.example.com/b:v2": 3, "latest": 4}


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        ([], {1, 2, 3, 4}),
        (["r.example.com/a/web:v1"], {1}),
        (["a/web:v1"], {1}),
        (["a/web"], {1}),
        (["r.example.com/a/web"], {1}),
        (["a/*"], {1, 2}),
        (["r.example.com/*", "b:v2"], {1, 2, 3}),
        (["*:v1"], {1, 2}),
        (["latest"], {4}),
    ],
)
def test_choosing(wanted: list[str], chosen: set[int]) -> None:
    assert set(choose_names(IMAGES, wanted).values()) == chosen


def test_a_choice_that_means_nothing() -> None:
    with pytest.raises(UserError, match="no image is called c/") as caught:
        choose_names(IMAGES, ["a/web", "c/*"])
    assert "r.example.com/a/web:v1" in caught.value.hint
    with pytest.raises(UserError) as caught:
        choose_names({}, ["a"])
    assert caught.value.hint == "there are none at all"
