# SPDX-License-Identifier: Apache-2.0
"""Enrolment: which registrations of a host are accepted, and what a host that comes back has to show.

A host is bound to the key pair of its first registration. After a restart from the medium the key is gone,
and all that the host has is the token of the medium, which every host of the site has too. So a registration
without the key is accepted only for a host that is silent and not being installed; in all other cases a
person has to approve the new key.
"""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from muster.model.host_key import fingerprint, is_fingerprint
from muster.service.decisions import checks
from muster.service.derive.addresses import addressed
from muster.service.realm import Draft
from muster.service.refusals import StateConflict
from muster.service.state import EnrolmentApproval, EnrolmentRequest, Host
from muster.service.states.host import await_next, fire
from muster.service.states.host_rows import BEFORE, POOL, PREPARING, RUNNING
from muster.service.states.sight import HostSight
from muster.service.states.stages import has_rebooted
from muster.service.states.words import name_of

_AUTOMATIC: Final = frozenset(
    f"{BEFORE} {POOL} {PREPARING} binding unbinding unbinding-pending-user-action reclaiming"
    " reclaiming-rebooting resetting resetting-pending-user-action error cancelled"
    " disabled disabled-unbound".split()
)
"""States in which a silent host may come back with another key: it has no files of an installation then."""
HEARD: Final = timedelta(seconds=90)
"""A host that called so recently is running: agents wait at most 60 s for their next step."""
APPROVAL_LASTS: Final = timedelta(minutes=10)
REQUEST_LASTS: Final = timedelta(minutes=5)
"""A request that was not repeated for so long expires: hosts repeat it every 15 seconds."""
_SHOWN: Final = timedelta(seconds=60)
"""How long a request to register again is shown before another one takes its place."""
_REPEATED: Final = timedelta(seconds=60)
"""How often it is written that a request was repeated."""
_SKEW: Final = timedelta(seconds=30)
"""Clocks of replicas may differ by so much: a time that is further in the future does not count."""
_BEFORE: Final = frozenset(f"{BEFORE} {POOL}".split())
_RUNNING: Final = frozenset(RUNNING.split())


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
    """It is noted that the host booted its medium instead of its disk; it gets no token."""
    JOINED = "joined"
    """The host runs from its disk: refused."""
    PROVE = "prove"
    """The host has to prove that it has its key."""
    HEARD = "heard"
    """Another one with the key is running: refused until that one is silent."""
    ASK = "ask"
    """A person has to approve it."""
    KEYLESS = "keyless"
    """A key is needed."""


def is_recent(then: datetime | None, now: datetime, within: timedelta) -> bool:
    """Whether a time is less than a span ago. A time in the future is not: the clock was set back since."""
    return then is not None and -_SKEW <= now - then < within


def is_heard(host: Host, heard_at: datetime | None, now: datetime) -> bool:
    """Whether a host is running, with the key that it is bound to.

    `heard_at` is when this replica heard it last. All replicas know when it registered, as that is durable.
    """
    return is_recent(heard_at, now, HEARD) or is_recent(host.registered_at, now, HEARD)


def rule_on(
    host: Host | None, claim: Claim, now: datetime, *, is_heard: bool, admits_keyless: bool
) -> Ruling:
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
    is_approved = _is_approved(host, claim.key, now)
    if is_heard and not is_approved:
        return Ruling.HEARD
    if not claim.is_proved:
        return Ruling.PROVE
    is_open = host.status in _AUTOMATIC
    if not is_open and has_rebooted(host):
        return Ruling.HEARD if is_heard else _rule_on_rebooted(host)
    return Ruling.ENROL if is_open or is_approved else Ruling.ASK


def _rule_on_rebooted(host: Host) -> Ruling:
    """Before its own system reports, the host may have booted the medium; after that it cannot have."""
    is_next_boot = host.status in _RUNNING and host.progress.current_stage == "Rebooting"
    return Ruling.NOTE if is_next_boot else Ruling.JOINED


def _is_approved(host: Host, key: str, now: datetime) -> bool:
    approval = host.enrolment_approval
    return (
        approval is not None
        and approval.key == fingerprint(key)
        and is_recent(approval.given_at, now, APPROVAL_LASTS)
    )


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
        enrolment_approval=None,
    )
    await_next(draft, host)


def request_approval(draft: Draft, host: Host, claim: Claim) -> None:
    """Show people that a host that is being installed wants to register with another key.

    The holder of the medium can ask with many keys: the one that is shown stays for a minute. What a person
    approves is a key, whether it is the one that is shown or not.
    """
    known, now = host.enrolment_request, draft.now
    if known is not None and is_recent(known.repeated_at, now, REQUEST_LASTS):
        if known.key == claim.key:
            if not is_recent(known.repeated_at, now, _REPEATED):
                draft.change(host, enrolment_request=msgspec.structs.replace(known, repeated_at=now))
            return
        if is_recent(known.requested_at, now, _SHOWN):
            return
    request = EnrolmentRequest(
        key=claim.key,
        address=claim.address,
        requested_at=now,
        repeated_at=now,
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


def tell_refused(draft: Draft, host: Host, claim: Claim) -> None:
    """Report that another key was refused because the host is running: its place may have been taken."""
    key = f"with the key {fingerprint(claim.key)}" if claim.key else "without a key"
    message = (
        f"Host {name_of(host)}: a machine at {claim.address} registers {key} while this host is running with"
        f" another key; refused. If that machine is the right one, approve the key on its console"
    )
    draft.tell(host, "host_enrolment_refused", message, severity="warning")


def note_medium_boot(draft: Draft, host: Host, claim: Claim) -> None:
    """Report that a machine registered as a host whose disk is complete.

    Before the first report of the installed system, the host may have booted the medium again: a person has
    to change the boot order. The next report of the host ends this. Later it cannot be the host.
    """
    message = (
        f"Host {name_of(host)}: a machine at {claim.address} booted the medium and registers with the key"
        f" {fingerprint(claim.key)}, although the disk of this host is complete; it gets no token"
    )
    draft.tell(host, "host_booted_medium", message, severity="warning")
    if host.status == "installing-in-progress" and _rule_on_rebooted(host) is Ruling.NOTE:
        fire(draft, "register", HostSight(draft, host))


def withdraw_request(draft: Draft, host: Host) -> None:
    """The host goes on with the key that it had: the request of another key and its approval end.

    An approval that a person gave while the host was running stays: it is to replace that key.
    """
    if is_withdrawable(host):
        approval = host.enrolment_approval
        kept = approval if approval is not None and approval.while_running else None
        draft.change(host, enrolment_request=None, enrolment_approval=kept)
        await_next(draft, host)
        if approval is not None and kept is None:
            message = f"Host {name_of(host)}: goes on with its key; the approval of {approval.key} ends"
            draft.tell(host, "host_enrolment_withdrawn", message)


def is_withdrawable(host: Host) -> bool:
    """Whether a report of the host itself withdraws a request or an approval."""
    approval = host.enrolment_approval
    return host.enrolment_request is not None or (approval is not None and not approval.while_running)


def expire(draft: Draft, host: Host) -> None:
    """Remove a request that is not repeated any more, and an approval that was not used in time."""
    request, approval, now = host.enrolment_request, host.enrolment_approval, draft.now
    if request is not None and not is_recent(request.repeated_at, now, REQUEST_LASTS):
        request = None
    if approval is not None and not is_recent(approval.given_at, now, APPROVAL_LASTS):
        approval = None
    if (request, approval) != (host.enrolment_request, host.enrolment_approval):
        draft.change(host, enrolment_request=request, enrolment_approval=approval)
        await_next(draft, host)


def approve(draft: Draft, host: Host, wanted: str, *, is_heard: bool) -> None:
    """A person lets a host register with the key that is on its console, in place of the one that it has.

    The key need not be the one that is shown: the holder of the medium can ask with many keys, and a host
    whose place was taken is refused before it can ask.
    """
    key = wanted.strip().upper()
    if not is_fingerprint(key):
        raise checks.refuse(
            "key", f"{wanted[:64]!r} is not a key", "type it as the console of the host shows it"
        )
    if host.public_key and key == fingerprint(host.public_key):
        raise StateConflict(f"host {name_of(host)} has this key already", hint="nothing is to be approved")
    if host.status not in _AUTOMATIC and has_rebooted(host):
        raise StateConflict(
            f"the disk of host {name_of(host)} is complete: it registers no more",
            hint="let it boot from its disk; to install it again, reset it first",
        )
    approval = EnrolmentApproval(key=key, given_at=draft.now, while_running=is_heard)
    draft.change(host, enrolment_approval=approval)
    await_next(draft, host)
    minutes = int(APPROVAL_LASTS.total_seconds() // 60)
    message = f"Host {name_of(host)}: the key {key} was approved for {minutes} minutes"
    draft.tell(host, "host_enrolment_approved", message)
