# SPDX-License-Identifier: Apache-2.0
"""Which registrations are accepted, and the proof of a key."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from muster.client.host_key import HostKey
from muster.model.wire.enums import HostStage
from muster.model.wire.host import HostProgressInfo
from muster.service.auth.host_keys import VALID_S, Challenges
from muster.service.decisions.enrolment import (
    APPROVAL_LASTS,
    HEARD,
    REQUEST_LASTS,
    Claim,
    Ruling,
    approve,
    enrolment_epoch,
    expire,
    is_heard,
    note_medium_boot,
    request_approval,
    rule_on,
    withdraw_request,
)
from muster.service.react import react
from muster.service.realm import Draft
from muster.service.refusals import StateConflict
from muster.service.state import EnrolmentApproval, EnrolmentRequest, Host
from muster.service.states import host as states
from tests.unit.service.states.world import make_cluster, make_draft, minutes

NOW = datetime(2026, 7, 1, tzinfo=UTC)
KEY, OTHER = HostKey(b"1" * 32), HostKey(b"2" * 32)
BEFORE = ("discovering", "known", "insufficient", "disconnected", "known-unbound", "cancelled", "error")
DURING = ("installing", "installing-in-progress", "installing-pending-user-action")


def host(
    status: str,
    key: str = KEY.public,
    stage: HostStage | None = None,
    approved: str = "",
    ago: timedelta = timedelta(),
) -> Host:
    approval = EnrolmentApproval(key=approved, given_at=NOW - ago)
    made = Host(
        id="a",
        infra_env_id="b",
        cluster_id="c",
        status=status,
        status_updated_at=NOW,
        created_at=NOW,
        registered_at=NOW,
        updated_at=NOW,
        public_key=key,
        enrolment_approval=approval if approved else None,
    )
    return msgspec.structs.replace(made, progress=HostProgressInfo(current_stage=stage)) if stage else made


def rule(known: Host | None, *, is_heard: bool = False, admits_keyless: bool = False, **claim: Any) -> Ruling:
    return rule_on(known, Claim(**claim), NOW, is_heard=is_heard, admits_keyless=admits_keyless)


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
    third = HostKey(b"3" * 32)
    assert rule(approved, key=third.public, is_proved=True) is Ruling.ASK
    assert rule(approved, key=third.public, is_proved=True, is_heard=True) is Ruling.HEARD


@pytest.mark.parametrize("status", BEFORE + DURING)
def test_an_approved_key_takes_the_place_of_a_host_that_is_running(status: str) -> None:
    approved = host(status, approved=OTHER.fingerprint)
    assert rule(approved, key=OTHER.public, is_heard=True) is Ruling.PROVE
    assert rule(approved, key=OTHER.public, is_proved=True, is_heard=True) is Ruling.ENROL


@pytest.mark.parametrize("ago", [APPROVAL_LASTS, timedelta(hours=1), timedelta(minutes=-2)])
def test_an_approval_expires_also_when_the_clock_is_set_back(ago: timedelta) -> None:
    approved = host("installing", approved=OTHER.fingerprint, ago=ago)
    assert rule(approved, key=OTHER.public, is_proved=True) is Ruling.ASK
    assert rule(approved, key=OTHER.public, is_proved=True, is_heard=True) is Ruling.HEARD


def test_an_approval_of_a_replica_whose_clock_is_ahead_is_good() -> None:
    approved = host("installing", approved=OTHER.fingerprint, ago=timedelta(seconds=-5))
    assert rule(approved, key=OTHER.public, is_proved=True) is Ruling.ENROL


def test_a_host_that_registered_a_moment_ago_is_running_whoever_heard_it() -> None:
    known = host("installing")
    assert is_heard(known, None, NOW), "another replica took the registration"
    assert is_heard(known, NOW - timedelta(hours=1), NOW + HEARD / 2)
    assert not is_heard(known, NOW - timedelta(hours=1), NOW + HEARD)
    assert is_heard(known, NOW + HEARD, NOW + HEARD)
    assert not is_heard(known, None, NOW - timedelta(hours=1)), "the clock was set back"


@pytest.mark.parametrize("stage", ["Rebooting", "Joined", "Done"])
def test_a_host_whose_disk_is_complete_gets_no_token_for_another_key(stage: HostStage) -> None:
    known = host("installing-in-progress", stage=stage, approved=OTHER.fingerprint)
    wanted = Ruling.NOTE if stage == "Rebooting" else Ruling.JOINED
    assert rule(known, key=OTHER.public, is_proved=True) is wanted
    assert rule(known, key=OTHER.public, is_proved=True, is_heard=True) is Ruling.HEARD


@pytest.mark.parametrize("status", ["installed", "added-to-existing-cluster"])
def test_an_installed_host_is_not_taken_for_one_that_booted_its_medium(status: str) -> None:
    known = host(status, stage="Done")
    assert rule(known, key=OTHER.public, is_proved=True) is Ruling.JOINED
    draft = make_draft([known], make_cluster(status="installed"), NOW)
    note_medium_boot(draft, known, Claim(key=OTHER.public, address="192.0.2.9"))
    assert draft.hosts["a"] == known
    (told,) = draft.events
    assert (told.name, told.severity) == ("host_booted_medium", "warning")
    assert OTHER.fingerprint in told.message
    assert "192.0.2.9" in told.message


# Requests and approvals


CLAIM = Claim(key=OTHER.public, is_proved=True, address="192.0.2.9")


def draft_at(known: Host, now: datetime = NOW) -> Draft:
    return make_draft([known], make_cluster(status="installing"), now)


def asked(known: Host, claim: Claim = CLAIM, now: datetime = NOW) -> Host:
    draft = draft_at(known, now)
    request_approval(draft, known, claim)
    return draft.hosts["a"]


def request_of(known: Host) -> EnrolmentRequest:
    assert known.enrolment_request is not None
    return known.enrolment_request


def test_a_request_that_is_repeated_stays_and_costs_a_write_a_minute() -> None:
    first = asked(host("installing"))
    assert asked(first, now=NOW + minutes(0.5)) == first
    later = asked(first, now=NOW + minutes(1))
    assert request_of(later).requested_at == NOW
    assert request_of(later).repeated_at == NOW + minutes(1)


def test_a_request_that_is_not_repeated_expires() -> None:
    first = asked(host("installing"))
    assert first.waiting is not None
    assert first.waiting.kind == "enrolment"
    for after, stays in ((REQUEST_LASTS - minutes(1), True), (REQUEST_LASTS, False), (-minutes(60), False)):
        draft = draft_at(first, NOW + after)
        expire(draft, first)
        assert (draft.hosts["a"].enrolment_request is not None) == stays
        assert (draft.hosts["a"].waiting == first.waiting) == stays
    third = Claim(key=HostKey(b"3" * 32).public, is_proved=True)
    assert request_of(asked(first, third, NOW - minutes(60))).key == third.key, "the clock was set back"


def test_an_approval_that_is_not_used_is_removed() -> None:
    approved = host("installing", approved=OTHER.fingerprint)
    for after, stays in ((APPROVAL_LASTS - minutes(1), True), (APPROVAL_LASTS, False)):
        draft = draft_at(approved, NOW + after)
        expire(draft, approved)
        assert (draft.hosts["a"].enrolment_approval is not None) == stays


@pytest.mark.parametrize("running", [False, True])
def test_a_report_of_the_host_withdraws_what_was_approved_while_it_was_silent(running: bool) -> None:
    known = asked(host("installing"))
    draft = draft_at(known)
    approve(draft, known, f" {OTHER.fingerprint.lower()}", is_heard=running)
    withdraw_request(draft, draft.hosts["a"])
    after = draft.hosts["a"]
    assert after.enrolment_request is None
    assert (after.enrolment_approval is not None) == running
    assert ("host_enrolment_withdrawn" in [each.name for each in draft.events]) != running


def test_a_key_is_approved_whether_it_is_shown_or_not() -> None:
    for status in (*BEFORE, *DURING):
        known = host(status)
        draft = draft_at(known)
        approve(draft, known, OTHER.fingerprint, is_heard=False)
        approval = draft.hosts["a"].enrolment_approval
        assert approval is not None
        assert (approval.key, approval.given_at) == (OTHER.fingerprint, NOW)


def test_no_key_is_approved_for_a_host_that_has_it_or_whose_disk_is_complete() -> None:
    known = host("installing")
    with pytest.raises(StateConflict, match="has this key already"):
        approve(draft_at(known), known, KEY.fingerprint, is_heard=False)
    done = host("installing-in-progress", stage="Joined")
    with pytest.raises(StateConflict, match="is complete: it registers no more"):
        approve(draft_at(done), done, OTHER.fingerprint, is_heard=False)


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


# Hosts that booted the medium instead of their disk


def installing(stage: HostStage, cluster: str) -> Draft:
    """A cluster that is being installed; the last host of it is at a stage."""
    others = [replace(host("installed", stage="Done"), id=id, role="master") for id in "def"]
    if cluster == "installing":
        others[0] = replace(others[0], status="installing-in-progress", progress=at("Configuring"))
    last = replace(host("installing-in-progress", stage=stage), role="worker")
    return make_draft([*others, last], make_cluster(status=cluster, control_plane_count=3), NOW)


def replace(known: Host, **values: Any) -> Host:
    return msgspec.structs.replace(known, **values)


def at(stage: HostStage) -> HostProgressInfo:
    return HostProgressInfo(current_stage=stage)


@pytest.mark.parametrize("cluster", ["installing", "finalizing"])
def test_the_next_report_of_a_host_ends_what_a_boot_of_the_medium_began(cluster: str) -> None:
    draft = installing("Rebooting", cluster)
    note_medium_boot(draft, draft.hosts["a"], CLAIM)
    react(draft)
    assert draft.hosts["a"].status == "installing-pending-user-action"
    assert draft.cluster.status == "installing-pending-user-action"
    note_medium_boot(draft, draft.hosts["a"], CLAIM)
    react(draft)
    assert draft.hosts["a"].status == "installing-pending-user-action"
    states.progress(draft, draft.hosts["a"], "Configuring")
    react(draft)
    assert draft.hosts["a"].status == "installing-in-progress"
    assert draft.cluster.status == cluster


@pytest.mark.parametrize("cluster", ["installing", "finalizing"])
@pytest.mark.parametrize("stage", ["Waiting for ignition", "Configuring", "Joined"])
def test_a_host_that_reported_from_its_disk_stays_as_it_is(stage: HostStage, cluster: str) -> None:
    draft = installing(stage, cluster)
    before = draft.hosts["a"]
    note_medium_boot(draft, before, CLAIM)
    react(draft)
    assert (draft.hosts["a"].status, draft.cluster.status) == ("installing-in-progress", cluster)
    assert draft.hosts["a"].registered_at == before.registered_at
    assert [each.name for each in draft.events if each.name] == ["host_booted_medium"]
