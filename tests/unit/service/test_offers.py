# SPDX-License-Identifier: Apache-2.0
"""Which release a version means."""

from __future__ import annotations

import pytest

from muster.errors import UserError
from muster.service.offers import Offer, Offers

X86, ARM = ("x86_64",), ("aarch64", "arm64")
OFFERS = Offers(
    (
        Offer("v1.36.10", "a", X86),
        Offer("v1.36.9", "b", X86),
        Offer("v1.35.0", "c", ARM),
        Offer("4.22.1", "d", X86),
    )
)


@pytest.mark.parametrize(
    ("version", "architecture", "image"),
    [
        ("v1.36.9", "x86_64", "b"),
        ("1.36.9", "", "b"),
        ("1.36", "x86_64", "a"),
        ("v1", "", "a"),
        ("v1.35", "arm64", "c"),
        ("4.22", "x86_64", "d"),
    ],
)
def test_that_one_or_the_latest_of_its_line(version: str, architecture: str, image: str) -> None:
    found = OFFERS.find(version, architecture)
    assert found is not None
    assert found.image == image


@pytest.mark.parametrize(
    ("version", "architecture"), [("4.2", ""), ("4.23", ""), ("v1.36.9", "aarch64"), ("", "")]
)
def test_what_is_not_there_is_refused_with_what_is(version: str, architecture: str) -> None:
    with pytest.raises(UserError, match=r"there are: .*v1\.35\.0") as caught:
        OFFERS.find(version, architecture)
    assert "--release" in caught.value.hint


def test_nothing_is_known_without_releases() -> None:
    assert Offers().find("4.22", "x86_64") is None
