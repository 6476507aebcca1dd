# SPDX-License-Identifier: Apache-2.0
"""Which registrations are accepted, and the proof of a key."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from muster.client.host_key import HostKey
from muster.model.wire.host import HostProgressInfo
from muster.service.auth.host_keys import VALID_S, Challenges
from muster.service.decisions.enrolment import Claim, Ruling, enrolment_epoch, rule_on
from muster.service.state import Host

NOW = datetime(2026, 7, 1, tzinfo=UTC)
KEY, OTHER = HostKey(b"1" * 32), HostKey(b"2" * 32)
BEFORE = ("discovering", "known", "insufficient", "disconnected", "known-unbound", "cancelled", "error")
DURING = ("installing", "installing-in-progress", "installing-pending-user-action")


def host(status: str, key: str = KEY.public, stage: str = "", approved: str = "") -> Host:
    made = Host(
        id="a",
        infra_env_id="b",
        status=status,
        status_updated_at=NOW,
        created_at=NOW,
        registered_at=NOW,
        updated_at=NOW,
        public_key=key,
        enrolment_approved=approved,
    )
    return msgspec.structs.replace(made, progress=HostProgressInfo(current_stage=stage)) if stage else made


def rule(known: Host | None, *, is_heard: bool = False, admits_keyless: bool = False, **claim: Any) -> Ruling:
    return rule_on(known, Claim(**claim), is_heard=is_heard, admits_keyless=admits_keyless)


def test_a_new_host_is_bound_to_its_key() -> None:
    assert rule(None, key=KEY.public) is Ruling.ENROL
    assert rule(None) is Ruling.KEYLESS
    assert rule(None, admits_keyless=True) is Ruling.ENROL


@pytest.mark.parametrize("status", BEFORE + DURING)
@pytest.mark.parametrize("is_heard", [False, True])
def test_the_key_of_a_host_needs_its_proof_and_nothing_else(status: str, is_heard: bool) -> None:
    assert rule(host(status), key=KEY.public, is_heard=is_heard) is Ruling.PROVE
    assert rule(host(status), key=KEY.public, is_proved=True, is_heard=is_heard) is Ruling.ENROL
    assert rule(host(status), key=KEY.public, has_own_token=True, is_heard=is_heard) is Ruling.ACCEPT
    assert rule(host(status), key=OTHER.public, has_own_token=True, is_heard=is_heard) is Ruling.PROVE


@pytest.mark.parametrize("status", BEFORE)
def test_another_key_takes_the_place_of_a_silent_host_before_its_installation(status: str) -> None:
    assert rule(host(status), key=OTHER.public) is Ruling.PROVE
    assert rule(host(status), key=OTHER.public, is_proved=True) is Ruling.ENROL
    assert rule(host(status), key=OTHER.public, is_proved=True, is_heard=True) is Ruling.HEARD


@pytest.mark.parametrize("status", DURING)
def test_during_the_installation_a_person_approves_one_key(status: str) -> None:
    assert rule(host(status), key=OTHER.public, is_proved=True) is Ruling.ASK
    approved = host(status, approved=OTHER.fingerprint)
    assert rule(approved, key=OTHER.public) is Ruling.PROVE, "its public half is not a secret"
    assert rule(approved, key=OTHER.public, is_proved=True) is Ruling.ENROL
    assert rule(approved, key=OTHER.public, is_proved=True, is_heard=True) is Ruling.HEARD
    third = HostKey(b"3" * 32)
    assert rule(approved, key=third.public, is_proved=True) is Ruling.ASK


@pytest.mark.parametrize("stage", ["Rebooting", "Joined", "Done"])
def test_a_host_whose_disk_is_complete_gets_no_token_for_another_key(stage: str) -> None:
    known = host("installing-in-progress", stage=stage, approved=OTHER.fingerprint)
    assert rule(known, key=OTHER.public, is_proved=True) is Ruling.NOTE
    assert rule(known, key=OTHER.public, is_proved=True, is_heard=True) is Ruling.HEARD


@pytest.mark.parametrize("admits", [False, True])
def test_a_host_without_a_key_comes_back_only_while_nothing_is_at_stake(admits: bool) -> None:
    accepted = Ruling.ENROL if admits else Ruling.KEYLESS
    assert rule(host("known", key=""), admits_keyless=admits) is accepted
    heard = rule(host("known", key=""), admits_keyless=admits, is_heard=True)
    assert heard is (Ruling.HEARD if admits else Ruling.KEYLESS)
    for status in DURING:
        assert rule(host(status, key=""), admits_keyless=admits) is Ruling.KEYLESS
    assert rule(host("known"), admits_keyless=admits) is Ruling.KEYLESS, "it has a key"


def test_epochs_of_other_keys_and_of_earlier_enrolments_differ() -> None:
    found = [enrolment_epoch(key.fingerprint, count) for key in (KEY, OTHER) for count in range(100)]
    assert len({*found}) == 200
    assert max(found) < 1 << 53, "JSON carries it"


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


def test_a_challenge_is_good_for_one_host_and_one_minute() -> None:
    clock = Clock()
    challenges = Challenges(ec.derive_private_key(1, ec.SECP256R1()), clock)
    challenge = challenges.make("env", "host")

    def is_proof(text: str, key: HostKey = KEY, env: str = "env", id: str = "host") -> bool:
        return challenges.is_proof(KEY.public, env, id, (text, key.prove(env, id, text)))

    assert is_proof(challenge)
    assert not is_proof(challenge, OTHER)
    assert not is_proof(challenge, env="other")
    assert not is_proof(challenge, id="other")
    until, _, mac = challenge.partition(".")
    for text in ("", "x", f"{int(until) + 600}.{mac}", f"{until}.{'0' * 64}", f"{until}.", f"²{challenge}"):
        assert not is_proof(text), text
    assert not challenges.is_proof(KEY.public, "env", "host", (challenge, "not base64!"))
    clock.now += timedelta(seconds=VALID_S + 1)
    assert not is_proof(challenge), "it is too old"
