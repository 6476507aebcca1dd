# SPDX-License-Identifier: Apache-2.0
"""Add-ons that a site chose, against its release."""

from __future__ import annotations

import pytest

from muster.errors import UserError
from muster.release.chosen import check_chosen
from tests.clusters import RELEASE


@pytest.mark.parametrize(
    ("ids", "message", "hint"),
    [
        (("graphs",), "add-ons.yaml: the release has no add-on graphs", "it has storage, backup, other"),
        (("backup",), "add-ons.yaml: the add-on backup needs storage", "add storage, or leave backup out"),
        (("storage", "other"), "add-ons.yaml: the add-ons other and storage exclude each other", "leave one"),
    ],
)
def test_a_choice_that_does_not_hold_is_explained(ids: tuple[str, ...], message: str, hint: str) -> None:
    with pytest.raises(UserError) as caught:
        check_chosen(RELEASE.add_ons, ids, "add-ons.yaml")
    assert caught.value.message == message
    assert hint in caught.value.hint


def test_a_choice_that_holds_is_taken() -> None:
    check_chosen(RELEASE.add_ons, ("backup", "storage"), "add-ons.yaml")
    check_chosen((), (), "add-ons.yaml")
