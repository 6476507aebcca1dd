# SPDX-License-Identifier: Apache-2.0
"""Enrolment: which registrations of a host are accepted, and what a host that comes back has to show.

A host is bound to the key pair of its first registration. After a restart from the medium the key is gone,
and all that the host has is the token of the medium, which every host of the site has too. So a registration
without the key is accepted only for a host that is silent and not being installed; during an installation a
person has to approve it.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta
from enum import StrEnum
from typing import Final

import msgspec

from muster.model.host_key import fingerprint, is_fingerprint
from muster.service.decisions import checks
from muster.service.derive.addresses import addressed
from muster.service.realm import Draft
from muster.service.refusals import StateConflict
from muster.service.state import EnrolmentRequest, Host
from muster.service.states.host import await_next
from muster.service.states.host_rows import BEFORE, POOL, PREPARING
from muster.service.states.stages import has_rebooted
from muster.service.states.words import name_of

_AUTOMATIC: Final = frozenset(
    f"{BEFORE} {POOL} {PREPARING} binding unbinding unbinding-pending-user-action reclaiming"
    " reclaiming-rebooting resetting resetting-pending-user-action error cancelled"
    " disabled disabled-unbound".split()
)
"""States in which a silent host may come back with another key: it has no files of an installation then."""
_SHOWN: Final = timedelta(seconds=60)
"""How long a request to register again is shown before another one takes its place."""
_BEFORE: Final = frozenset(f"{BEFORE} {POOL}".split())


class Claim(msgspec.Struct, frozen=True):
    """What a caller that registers a host shows."""

    key: str = ""
    """The public key; empty for agents that have none."""
    is_proved: bool = False
    """Whether it signed a challenge with that key."""
    has_own_token: bool = False
    """Whether it called with the host's own token."""
    address: str = ""
    agent_version: str = ""


class Ruling(StrEnum):
    """What becomes of a registration."""

    ACCEPT = "accept"
    """The host goes on with the tokens that it has."""
    ENROL = "enrol"
    """The host is bound to the key of the claim, and its older tokens end."""
    NOTE = "note"
    """It is noted that the host booted its medium; it gets no token."""
    PROVE = "prove"
    """The host has to prove that it has its key."""
    HEARD = "heard"
    """Another one with the key is running: refused until that one is silent."""
    ASK = "ask"
    """A person has to approve it."""
    KEYLESS = "keyless"
    """A key is needed."""


def rule_on(host: Host | None, claim: Claim, *, is_heard: bool, admits_keyless: bool) -> Ruling:
    """What becomes of a registration; `is_heard`: the host was heard of a moment ago."""
    if not claim.key and not admits_keyless and not claim.has_own_token:
        return Ruling.KEYLESS
    if host is None:
        return Ruling.ENROL
    if claim.has_own_token:
        return Ruling.ACCEPT if claim.key in ("", host.public_key) else Ruling.PROVE
    if claim.key and claim.key == host.public_key:
        return Ruling.ENROL if claim.is_proved else Ruling.PROVE
    if not claim.key:
        return _rule_on_keyless(host, is_heard=is_heard)
    if is_heard:
        return Ruling.HEARD
    if not claim.is_proved:
        return Ruling.PROVE
    is_open = host.status in _AUTOMATIC
    if not is_open and has_rebooted(host):
        return Ruling.NOTE
    is_approved = host.enrolment_approved == fingerprint(claim.key)
    return Ruling.ENROL if is_open or is_approved else Ruling.ASK


def _rule_on_keyless(host: Host, *, is_heard: bool) -> Ruling:
    """Agents of others cannot prove anything: they may come back only while nothing is at stake."""
    if host.public_key or host.status not in _BEFORE:
        return Ruling.KEYLESS
    return Ruling.HEARD if is_heard else Ruling.ENROL


def enrolment_epoch(key_fingerprint: str, count: int) -> int:
    """What the own tokens of a host name: those of another key, or of an earlier enrolment, are worthless.

    The count alone would begin again when a host is deleted and registers anew.
    """
    digest = hashlib.sha256(f"{key_fingerprint} {count}".encode()).digest()
    return int.from_bytes(digest[:6])


def epoch_of_host(host: Host) -> int:
    """The same of a host as it is."""
    return enrolment_epoch(fingerprint(host.public_key) if host.public_key else "", host.enrolment)


def enrol(draft: Draft, host_id: str, claim: Claim) -> None:
    """Bind a host to a key; its older tokens end."""
    host = draft.hosts[host_id]
    if host.public_key and host.public_key != claim.key:
        message = (
            f"Host {name_of(host)}: registered from {claim.address} with a new key, {fingerprint(claim.key)};"
            " the old one is void"
        )
        draft.tell(host, "host_enrolled_again", message, severity="warning")
    draft.change(
        host,
        public_key=claim.key,
        enrolled=False,
        enrolment=host.enrolment + 1,
        enrolment_request=None,
        enrolment_approved="",
    )
    await_next(draft, host)


def request_approval(draft: Draft, host: Host, claim: Claim) -> None:
    """Show people that a host that is being installed wants to register with another key.

    The holder of the medium can ask with many keys: the one that is shown stays for a minute. What a person
    approves is a key, whether it is the one that is shown or not.
    """
    known = host.enrolment_request
    if known is not None and (known.key == claim.key or draft.now - known.requested_at < _SHOWN):
        return
    request = EnrolmentRequest(
        key=claim.key,
        address=claim.address,
        requested_at=draft.now,
        differs=tuple(_differences(host, claim)),
    )
    draft.change(host, enrolment_request=request)
    await_next(draft, host)
    message = (
        f"Host {name_of(host)}: wants to register again during its installation, with the key"
        f" {fingerprint(claim.key)}: {'; '.join(request.differs)}"
    )
    draft.tell(host, "host_enrolment_requested", message, severity="warning")


def _differences(host: Host, claim: Claim) -> list[str]:
    """What is not as it was, for the person who has to decide."""
    found = [f"its key is {fingerprint(claim.key)} instead of {fingerprint(host.public_key)}"]
    own = [address for _, address, _ in addressed(host.inventory)]
    if claim.address in own:
        found.append(f"it calls from {claim.address}, an address of this host")
    else:
        found.append(f"it calls from {claim.address}; this host had {', '.join(own) or 'no address'}")
    if claim.agent_version != host.discovery_agent_version:
        found.append(
            f"its agent is {claim.agent_version or 'unknown'} instead of {host.discovery_agent_version}"
        )
    return found


def withdraw_request(draft: Draft, host: Host) -> None:
    """The host goes on with the key that it had: nobody has to approve anything."""
    if host.enrolment_request is not None or host.enrolment_approved:
        draft.change(host, enrolment_request=None, enrolment_approved="")
        await_next(draft, host)


def approve(draft: Draft, host: Host, wanted: str) -> None:
    """A person lets a host come back with the key that is on its console."""
    request = host.enrolment_request
    if request is None:
        raise StateConflict(
            f"host {name_of(host)} has not asked to register again",
            hint="look at the host's enrolment_request",
        )
    key = wanted.strip().upper()
    if not is_fingerprint(key):
        raise checks.refuse(
            "key", f"{wanted[:64]!r} is not a key", "type it as the console of the host shows it"
        )
    draft.change(host, enrolment_approved=key)
    await_next(draft, host)
    draft.tell(host, "host_enrolment_approved", f"Host {name_of(host)}: the key {key} was approved")
