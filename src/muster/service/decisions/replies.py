# SPDX-License-Identifier: Apache-2.0
"""What a host answers to a step: taken over where it says something new."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Final, TypeAlias

from muster.model.wire.reports import StepReply
from muster.service.realm import Draft
from muster.service.refusals import BadRequest
from muster.service.replies import checks
from muster.service.replies.connectivity import take_connectivity
from muster.service.replies.inventory import take_inventory
from muster.service.replies.reading import MOST_ITEMS, check_items
from muster.service.state import Host
from muster.service.states.host import media_disconnected

FailInstall: TypeAlias = Callable[[Draft, Host, str], object]
"""What becomes of a host whose installation could not be started, and why it could not."""
_Take: TypeAlias = Callable[[Draft, Host, StepReply], None]
_TakeAsked: TypeAlias = Callable[[Draft, Host, StepReply, Set[str]], None]

_MEDIA_DISCONNECTED: Final = 256
_NAME_IN_USE: Final = 125
_MAX_ERROR: Final = 500
_MIB: Final = 1 << 20
_LONGEST: Final = {
    "inventory": 8 * _MIB,
    "connectivity-check": 4 * _MIB,
    "api-vip-connectivity-check": 8 * _MIB,
}
"""Characters of an output: disks tell of their health at length, and configurations are whole."""

_MOST_ITEMS: Final = {"inventory": 200_000}
"""Of an output: the commas in what disks tell of their health count."""

_TAKE: Final[Mapping[str, _Take]] = {
    "inventory": lambda draft, host, reply: take_inventory(draft, host, reply.output or ""),
    "connectivity-check": lambda draft, host, reply: take_connectivity(draft, host, reply.output or ""),
    "ntp-synchronizer": checks.take_ntp,
    "free-network-addresses": checks.take_free_addresses,
    "verify-vips": checks.take_vips,
}
"""What says nothing when the step failed."""
_TAKE_FAILED_TOO: Final[Mapping[str, _Take]] = {
    "installation-disk-speed-check": checks.take_disk_speed,
    "tang-connectivity-check": checks.take_tang,
    "api-vip-connectivity-check": checks.take_api_vip,
}
_TAKE_ASKED: Final[Mapping[str, _TakeAsked]] = {
    "domain-resolution": checks.take_resolutions,
    "container-image-availability": checks.take_images,
    "upgrade-agent": checks.take_upgrade,
    "dhcp-lease-allocate": checks.take_leases,
}
"""Answers to what the service asks this host in its present state: of other things nothing is taken."""


def take_reply(
    draft: Draft, host: Host, reply: StepReply, fail_install: FailInstall, asked: Set[str]
) -> None:
    """What a host answered. A step that failed is asked again; it is no fault of the answer.

    ``asked``: what the step is about, for steps in ``_TAKE_ASKED``; empty if the host is not asked for it.
    """
    step_type = reply.step_type
    if step_type is None:
        raise BadRequest("the reply does not say to which step", hint="give step_type")
    if len(reply.output or "") > (most := _LONGEST.get(step_type, _MIB)):
        raise BadRequest(f"output of step {step_type} is longer than {most} characters", hint="send less")
    check_items(f"output of step {step_type}", reply.output or "", _MOST_ITEMS.get(step_type, MOST_ITEMS))
    if reply.exit_code == _MEDIA_DISCONNECTED:
        media_disconnected(draft, host, (reply.error or "").strip()[-_MAX_ERROR:])
        return
    draft.change(host, media_status="connected")
    host = draft.hosts[host.id]
    if step_type == "install":
        _take_install(draft, host, reply, fail_install)
    elif step_type in _TAKE_ASKED:
        _TAKE_ASKED[step_type](draft, host, reply, asked)
    elif step_type in _TAKE_FAILED_TOO:
        _TAKE_FAILED_TOO[step_type](draft, host, reply)
    elif not reply.exit_code and step_type in _TAKE:
        _TAKE[step_type](draft, host, reply)


def _take_install(draft: Draft, host: Host, reply: StepReply, fail_install: FailInstall) -> None:
    """An installation that is under way already cannot be started again, and need not be."""
    error = (reply.error or reply.output or "").strip()
    if not reply.exit_code or (reply.exit_code == _NAME_IN_USE and "in use" in error):
        return
    text = error[-_MAX_ERROR:] or f"the installer ended with status {reply.exit_code}"
    fail_install(draft, host, text)
