# SPDX-License-Identifier: Apache-2.0
"""A host asks what to do: what that tells of the host, and what it is told."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import msgspec

from muster.errors import MusterError
from muster.model.wire.enums import StepType
from muster.model.wire.steps import DomainResolutionRequest, Steps
from muster.service.decisions.enrolment import is_withdrawable, withdraw_request
from muster.service.preparing import order_of
from muster.service.realm import Draft
from muster.service.refusals import NotFound
from muster.service.state import Host
from muster.service.states.host import heard_again
from muster.service.steps.network import dhcp_lease_allocate, domain_resolution
from muster.service.steps.plan import has_news, next_steps
from muster.service.steps.scene import Means, ReleaseImages, Scene
from muster.service.steps.sent import Sent, expire
from muster.service.steps.table import step_types

if TYPE_CHECKING:
    from muster.service.service import Service

_COARSE_S: Final = 10
"""Clocks that differ by less are the same: only more is worth a note."""
_LEAST_S: Final = 1.0


class Poll(msgspec.Struct, frozen=True):
    """What a host says when it asks."""

    timestamp: int
    """Its own time; 0 when it does not say."""
    enrolled: bool
    """Whether it asks with a token of its own."""
    waits: bool
    """Whether it is ready to wait for its answer."""


async def answer_poll(service: Service, host: Host, poll: Poll) -> Found:
    """A host asks: take note of it, and find what it is to do."""
    await note_poll(service, host, poll.timestamp, enrolled=poll.enrolled)
    return plan_next(service, service.engine.host(host.id), waits=poll.waits)


async def note_poll(service: Service, host: Host, timestamp: int, *, enrolled: bool) -> None:
    """What the question itself tells: the host is there, what its clock says, whose token it has."""
    now = service.now()
    service.upkeep.note(host.id)
    may_write = not service.bounds.seconds_to_write(host.id, "", now.timestamp())
    offset = _offset(host, timestamp, now) if may_write else host.clock_offset_s
    reads = host.media_status == "disconnected" and _reads_medium(host, service.sent.get(host.id), now)
    is_new = host.silent or reads or offset != host.clock_offset_s
    is_new |= enrolled and (not host.enrolled or is_withdrawable(host))
    if not is_new:
        return

    def decision(draft: Draft) -> None:
        present = draft.hosts[host.id]
        draft.change(present, clock_offset_s=offset, enrolled=present.enrolled or enrolled)
        if reads:
            draft.change(draft.hosts[host.id], media_status="connected")
        if present.silent:
            heard_again(draft, draft.hosts[host.id])
        if enrolled:
            withdraw_request(draft, draft.hosts[host.id])

    await service.change(lambda: service.engine.realm_of("host", host.id), decision, host=host.id)


def _reads_medium(host: Host, sent: Sent | None, now: datetime) -> bool:
    """Whether a host that lost its medium was asked for its inventory since, and had nothing new to say.

    One that cannot read its medium says so every time; one that can does not repeat what it said before.
    """
    done = expire(sent, host, now).done.get("inventory") if sent is not None else None
    return done is not None and not done.failed and done.at >= host.status_updated_at


def _offset(host: Host, timestamp: int, now: datetime) -> int | None:
    """How far a host's clock is ahead of ours, as long as it is about the same the same value."""
    if not timestamp:
        return host.clock_offset_s
    try:
        ahead = (datetime.fromtimestamp(timestamp, UTC) - now).total_seconds()
    except (OverflowError, ValueError, OSError):
        return host.clock_offset_s
    if host.clock_offset_s is not None and abs(ahead - host.clock_offset_s) < _COARSE_S:
        return host.clock_offset_s
    return round(ahead / _COARSE_S) * _COARSE_S


class Found(msgspec.Struct, frozen=True):
    """What a host is to do, not handed out yet."""

    service: Service
    host: Host
    steps: Steps
    sent: Sent

    @property
    def is_worth_it(self) -> bool:
        """Whether a host that is ready to wait should get it now."""
        return bool(self.steps.instructions) or self.steps.post_step_action == "exit"

    def seconds_to_look(self, most: float) -> float:
        """How long a host that waits may do so until something comes up by itself."""
        due = self.sent.due
        left = most if due is None else (due - self.service.now()).total_seconds()
        return max(_LEAST_S, min(most, left))

    async def hand_out(self) -> None:
        """What is handed out follows from what is durable; it is remembered, so that it is told once."""
        sent = self.service.sent
        sent[self.host.id] = self.sent  # At once: the answer to an earlier step may come while we settle.
        try:
            await self.service.settle(self.host.realm)
        except BaseException:
            sent.pop(self.host.id, None)
            raise


def plan_next(service: Service, host: Host, *, waits: bool = False) -> Found:
    """What a host is to do now."""
    sent = service.sent.get(host.id) or Sent()
    plan = next_steps(_scene(service, host, waits=waits), sent)
    return Found(service, host, plan.steps, plan.sent)


def asked_of(service: Service, host: Host, step_type: StepType | None) -> frozenset[str]:
    """What a step of a host is about: images, domain names, the agent to be fetched, the request of a lease.

    Empty if the host is not asked for this step in its present state. It follows from the state, not from the
    steps that were handed out: any replica may get the answer, also after a restart.
    """
    if step_type == "container-image-availability":
        images = _images(service, host)
        return frozenset(() if images is None else msgspec.structs.astuple(images)) - {""}
    if step_type == "domain-resolution":
        args = domain_resolution(_scene(service, host, waits=False)) or ()
        requests = (msgspec.json.decode(each, type=DomainResolutionRequest) for each in args)
        return frozenset(each["domain_name"] for request in requests for each in request.domains)
    if step_type == "upgrade-agent":
        return frozenset({_means(service, host).agent_image}) - {""}
    if step_type == "dhcp-lease-allocate":
        scene = _scene(service, host, waits=False)
        return frozenset(dhcp_lease_allocate(scene) or () if step_type in step_types(scene) else ())
    return frozenset()


def has_something(service: Service, host: Host) -> bool:
    """Whether there is anything to do for a host that waits; it costs little while nothing changed."""
    return has_news(_scene(service, host, waits=True), service.sent.get(host.id) or Sent())


def _scene(service: Service, host: Host, *, waits: bool) -> Scene:
    engine = service.engine
    try:
        infra_env = engine.infra_env(host.infra_env_id)
    except NotFound:
        infra_env = None
    return Scene(
        engine.realm_of("host", host.id), host, infra_env, service.now(), _means(service, host), waits
    )


def _means(service: Service, host: Host) -> Means:
    return Means(
        chance=lambda: service.around.chance(4).hex(),
        images=_images(service, host),
        open_secret=service.around.vault.open,
    )


def _images(service: Service, host: Host) -> ReleaseImages | None:
    """The images that a host has to be able to get; looked up once for each version."""
    if host.cluster_id is None:
        return None
    cluster = service.engine.cluster(host.cluster_id)
    key = (cluster.openshift_version, cluster.cpu_architecture)
    if key not in service.images:
        try:
            order = order_of(service, cluster.id, with_secrets=False, with_manifests=False)
            found = service.around.driver.images(order)
        except MusterError:  # The release may come yet.
            return None
        service.images[key] = found
    found = service.images[key]
    return ReleaseImages(found[0], found[0], found[0]) if found else None
