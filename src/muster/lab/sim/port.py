# SPDX-License-Identifier: Apache-2.0
"""How a modelled host talks to a service: in this process, or over sockets, with the same few requests."""

from __future__ import annotations

from typing import Protocol, TypeAlias

import msgspec

from muster.model.wire.enums import LogsState
from muster.model.wire.host import (
    HostCreateParams,
    HostProgress,
    HostRegistrationResponse,
    LogsProgressParams,
)
from muster.model.wire.reports import StepReply
from muster.model.wire.steps import Steps


class Refused(Exception):
    """The service answered, but not as was hoped."""

    def __init__(self, status: int, reason: str = "") -> None:
        super().__init__(f"{status} {reason}".strip())
        self.status = status


class Unreachable(Exception):
    """Nobody answered."""


class ServicePort(Protocol):
    """What an agent asks of the service. Each call may raise `Refused` or `Unreachable`."""

    def register(self, params: HostCreateParams) -> HostRegistrationResponse:
        """Make the host known."""

    def instructions(self, host_id: str, timestamp: int) -> Steps:
        """What the host is to do next; the time is that of its own clock."""

    def reply(self, host_id: str, reply: StepReply) -> None:
        """What came of a step."""

    def progress(self, host_id: str, progress: HostProgress) -> None:
        """The stage that its installation has reached."""

    def logs_progress(self, host_id: str, state: LogsProgressParams) -> None:
        """How far the collection of its logs is."""

    def logs(self, host_id: str, cluster_id: str, archive: bytes) -> None:
        """Its logs."""


class Register(msgspec.Struct, frozen=True, gc=False):
    """The host registers."""

    params: HostCreateParams


class Poll(msgspec.Struct, frozen=True, gc=False):
    """The host asks what to do."""

    clock_offset_s: float = 0.0
    """How far its clock is off."""


class Reply(msgspec.Struct, frozen=True, gc=False):
    """The host tells what came of a step."""

    reply: StepReply
    tries: int = 0


class Report(msgspec.Struct, frozen=True, gc=False):
    """The host tells how far its installation is."""

    progress: HostProgress
    tries: int = 0


class TellLogs(msgspec.Struct, frozen=True, gc=False):
    """The host tells how far its logs are."""

    state: LogsState


class SendLogs(msgspec.Struct, frozen=True, gc=False):
    """The host sends its logs."""

    cluster_id: str
    archive: bytes


Request: TypeAlias = Register | Poll | Reply | Report | TellLogs | SendLogs


class Got(msgspec.Struct, frozen=True, gc=False):
    """What came of a request: an answer, a refusal with its status, or nothing at all (status 0)."""

    status: int
    steps: Steps | None = None
    retry_s: float = 0.0
    """After how long the service wants to be asked again, when it said so."""

    @property
    def is_ok(self) -> bool:
        """Whether the service took it."""
        return 200 <= self.status < 300


NOTHING = Got(0)


def send(port: ServicePort, host_id: str, request: Request, now: float) -> Got:
    """Send a request to a service in this process, at a moment in seconds since 1970."""
    try:
        return Got(200, _call(port, host_id, request, now))
    except Refused as error:
        return Got(error.status)
    except Unreachable:
        return NOTHING


def _call(port: ServicePort, host_id: str, request: Request, now: float) -> Steps | None:
    match request:
        case Register(params):
            port.register(params)
        case Poll(offset):
            return port.instructions(host_id, int(now + offset))
        case Reply(reply):
            port.reply(host_id, reply)
        case Report(progress):
            port.progress(host_id, progress)
        case TellLogs(state):
            port.logs_progress(host_id, LogsProgressParams(logs_state=state))
        case SendLogs(cluster_id, archive):
            port.logs(host_id, cluster_id, archive)
    return None
