# SPDX-License-Identifier: Apache-2.0
"""What a host was told to do, and when: kept in memory, so that nothing is told twice while it runs.

An agent does not repeat an answer that is the same as its last one, so a step without an answer counts as
done when its time is over. A host that registers again begins with nothing sent.
"""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec.structs import replace

from muster.model.wire.reports import StepReply
from muster.model.wire.steps import Steps
from muster.service.derive.bits import read_bits
from muster.service.state import Cluster, Host, InfraEnv
from muster.service.steps.cadence import deadline_of

_MAY_BE_RUNNING = frozenset(
    {"installation-disk-speed-check", "container-image-availability", "free-network-addresses"}
)


class Running(msgspec.Struct, frozen=True):
    """A step that a host is at."""

    id: str
    digest: int
    """Of what it was told."""
    at: datetime
    peers: int = 0
    """Which peers it checks, as bits."""


class Done(msgspec.Struct, frozen=True):
    """A step that a host was at."""

    digest: int
    at: datetime
    failed: bool = False


class Sent(msgspec.Struct, frozen=True):
    """What a host was told to do."""

    running: dict[str, Running] = {}
    done: dict[str, Done] = {}
    seen: int = 0
    """How far it was told of its peers."""
    todo: int = 0
    """Which peers it has not been told to check yet, as bits."""
    checked_at: datetime | None = None
    """When it was last told to check the last of its peers."""
    rechecked_at: datetime | None = None
    """When it was last told to check those again with which something is wrong."""
    at: datetime | None = None
    """When it was told."""
    due: datetime | None = None
    """Before then nothing comes up by itself."""
    host: Host | None = None
    cluster: Cluster | None = None
    infra_env: InfraEnv | None = None
    """What it was decided upon."""


class Plan(msgspec.Struct, frozen=True):
    """What a host is to do now."""

    steps: Steps
    sent: Sent


def expire(sent: Sent, host: Host, now: datetime) -> Sent:
    """Without the steps whose time is over: peers that were not checked by then are still to be checked."""
    over = [name for name, each in sent.running.items() if each.at + deadline_of(name) <= now]
    if not over:
        return sent
    running, done, todo = dict(sent.running), dict(sent.done), sent.todo
    for name in over:
        step = running.pop(name)
        done[name] = Done(step.digest, step.at)
        todo |= step.peers & ~read_bits(host.asked)
    return replace(sent, running=running, done=done, todo=todo)


def note_reply(sent: Sent, reply: StepReply, now: datetime) -> Sent:
    """After a host answered a step. An empty answer of some steps says that they are still running."""
    name = reply.step_type or ""
    step = sent.running.get(name)
    if step is None or (reply.step_id and reply.step_id != step.id):
        return sent
    if name in _MAY_BE_RUNNING and not reply.output and not reply.exit_code:
        return sent
    running = {other: each for other, each in sent.running.items() if other != name}
    done = {**sent.done, name: Done(step.digest, now, bool(reply.exit_code))}
    todo = sent.todo | step.peers if reply.exit_code else sent.todo
    return replace(sent, running=running, done=done, todo=todo, due=None)
