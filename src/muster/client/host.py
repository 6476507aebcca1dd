# SPDX-License-Identifier: Apache-2.0
"""What a host says to the service and is told by it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Final

import aiohttp
import msgspec

from muster.client.calls import PATIENCE_S, Answer, Calls, Refused
from muster.client.host_key import HostKey
from muster.client.target import HOST_TOKEN
from muster.clock import Change
from muster.model.host_key import CHALLENGE_HEADER, KEY_HEADER, PROOF_HEADER
from muster.model.wire.enums import HostStage, LogsState
from muster.model.wire.files import Event
from muster.model.wire.host import HostCreateParams, HostLogLines, HostProgress, LogsProgressParams
from muster.model.wire.reports import StepReply
from muster.model.wire.steps import Steps

_UPLOAD_S: Final = 900.0
_UNBELIEVED: Final = (401, 403)


class Registered(msgspec.Struct, frozen=True):
    """What the service says to a host that registers."""

    status: str = ""
    status_info: str = ""
    token: str = ""
    """Good for that host alone."""
    is_enrolled: bool = False
    """Whether the service gave it that token with this registration."""


class Medium(msgspec.Struct, frozen=True):
    """What a host registers with: the token that all hosts of its medium share, and its own key."""

    token: str
    key: HostKey


class HostCalls:
    """One host's conversation with the service."""

    def __init__(self, calls: Calls, infra_env_id: str, host_id: str, medium: Medium | None = None) -> None:
        """`medium`: what a host registers with; only the agent does."""
        self._calls, self.infra_env_id, self.host_id = calls, infra_env_id, host_id
        self._medium = medium
        self._hosts = f"/infra-envs/{infra_env_id}/hosts"
        self._own = f"{self._hosts}/{host_id}"

    async def register(self, version: str) -> Registered:
        """Make the host known; the token that is good for it alone is used from now on.

        A service that lost what it knew does not believe its own tokens any more, but that of the medium.
        """
        params = HostCreateParams(host_id=self.host_id, discovery_agent_version=version)
        try:
            answer = await self._register(params)
        except Refused as error:
            token = self._medium.token if self._medium is not None else ""
            if error.code not in _UNBELIEVED or token in ("", self._calls.token):
                raise
            self._calls.token = token
            answer = await self._register(params)
        own = answer.headers.get(HOST_TOKEN, "")
        self._calls.token = own or self._calls.token
        try:
            said = msgspec.json.decode(answer.body, type=Registered)
        except msgspec.DecodeError:
            said = Registered()
        return msgspec.structs.replace(said, token=self._calls.token, is_enrolled=bool(own))

    async def _register(self, params: HostCreateParams) -> Answer:
        """Register with the key of this host, and prove that it has it where the service asks for that."""
        if self._medium is None:
            return await self._calls.call("POST", self._hosts, params)
        key = self._medium.key
        headers = {KEY_HEADER: key.public}
        try:
            return await self._calls.call("POST", self._hosts, params, headers=headers)
        except Refused as error:
            if not error.challenge:
                raise
            headers[CHALLENGE_HEADER] = error.challenge
        headers[PROOF_HEADER] = key.prove(self.infra_env_id, self.host_id, headers[CHALLENGE_HEADER])
        return await self._calls.call("POST", self._hosts, params, headers=headers)

    async def instructions(self, now: datetime, wait_s: int) -> Steps:
        """What to do next; the service may hold the answer for a while."""
        return await self._calls.read(
            "GET",
            f"{self._own}/instructions?timestamp={int(now.timestamp())}",
            Steps,
            headers={"Prefer": f"wait={wait_s}"},
            patience_s=PATIENCE_S + wait_s,
        )

    async def reply(self, reply: StepReply) -> None:
        """What came of a step."""
        await self._calls.call("POST", f"{self._own}/instructions", reply)

    async def progress(self, stage: HostStage, info: str = "") -> None:
        """The stage that its installation has reached."""
        body = HostProgress(current_stage=stage, progress_info=info or None)
        await self._calls.call("PUT", f"{self._own}/progress", body)

    async def clock_set(self, name: str, change: Change) -> None:
        """Its clock was set; that is for the log of the installation."""
        event = Event(
            severity="warning",
            name="host_clock_set",
            message=f"Host {name}: its clock {change.words}",
            event_time=change.now,
            host_id=self.host_id,
        )
        await self._calls.call("POST", "/events", event)

    async def ignition(self) -> bytes:
        """What makes a node of it at its first boot from the disk."""
        return (
            await self._calls.call(
                "GET", f"/infra-env/{self.infra_env_id}/hosts/{self.host_id}/downloads/ignition"
            )
        ).body

    async def logs_progress(self, state: LogsState) -> None:
        """How far the collection of its logs is."""
        await self._calls.call("PUT", f"{self._own}/logs-progress", LogsProgressParams(logs_state=state))

    async def log_lines(self, lines: tuple[str, ...]) -> None:
        """What was written into its journal, for whoever watches."""
        await self._calls.call("PUT", f"{self._own}/log-lines", HostLogLines(lines=lines))

    async def logs(self, cluster_id: str, archive: Path) -> None:
        """Its logs."""
        query = f"logs_type=host&host_id={self.host_id}&infra_env_id={self.infra_env_id}"
        with archive.open("rb") as file:
            form = aiohttp.FormData()
            form.add_field("upfile", file, filename="logs.tar.gz", content_type="application/gzip")
            await self._calls.call("POST", f"/clusters/{cluster_id}/logs?{query}", form, patience_s=_UPLOAD_S)
