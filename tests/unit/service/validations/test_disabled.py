# SPDX-License-Identifier: Apache-2.0
"""Validations that the settings switch off: which can be, and what follows."""

from __future__ import annotations

import pytest

from muster.errors import UserError
from muster.service.react import react
from muster.service.realm import Draft, Realm
from muster.service.validations.disabled import check_disabled, is_judged_otherwise, judge_again
from tests.unit.service.hosts import NOW, all_told

NTP = frozenset({"ntp-synced"})


def test_what_is_known_can_be_switched_off() -> None:
    assert check_disabled(["ntp-synced", "dns-domain-defined"]) == {"ntp-synced", "dns-domain-defined"}
    assert check_disabled([]) == frozenset()


@pytest.mark.parametrize(
    ("id", "message"),
    [
        ("ntp-sync", "there is no validation ntp-sync; did you mean ntp-synced"),
        ("NTP_SYNCED", "did you mean ntp-synced"),
        ("zzz", "there is no validation zzz$"),
        ("connected", "the validation connected cannot be switched off"),
    ],
)
def test_what_cannot_be(id: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        check_disabled(["ntp-synced", id])


def statuses(realm: Realm) -> set[str]:
    return {each.status for host in realm.hosts.values() for each in host.verdicts if each.id in NTP}


def judge(realm: Realm, disabled: frozenset[str]) -> None:
    draft = Draft(realm, NOW)
    judge_again(draft)
    react(draft, disabled)
    draft.apply()


def test_other_settings_make_other_verdicts() -> None:
    realm = all_told(2)
    judge(realm, frozenset())
    assert statuses(realm) == {"pending"}
    assert not is_judged_otherwise(realm, frozenset())
    assert is_judged_otherwise(realm, NTP)
    judge(realm, NTP)
    assert statuses(realm) == {"disabled"}
    assert not is_judged_otherwise(realm, NTP)
    judge(realm, frozenset())
    assert statuses(realm) == {"pending"}
