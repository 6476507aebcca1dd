# SPDX-License-Identifier: Apache-2.0
"""What a choice does to a host: files as a medium of a site would have brought them, and units."""

from __future__ import annotations

import asyncio
import shutil
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from muster.agent.meeting.choice import Kind, Standing
from muster.agent.meeting.place import MeetingPlace, Papers
from muster.files import remove_file, save_file
from muster.machine import Machine
from muster.model.meeting import (
    AGENT_TOKEN,
    ENVIRONMENT,
    SERVICE_AUTHORITY,
    Meeting,
    parse_meeting,
    render_meeting,
)
from muster.model.service_card import CARD_FILE, LOGIN_FILE

SERVICE: Final = "var/lib/muster/service"
RUN: Final = "run/muster"
_TARGET: Final = "muster-meeting.target"
_UNITS: Final = ("muster-install.service", "muster-agent.service", "muster-rendezvous.service")
_LEFT: Final = (
    *(LOGIN_FILE, CARD_FILE, "host-token", "install.json"),
    *("agent.json", "rendezvous.json", "install-notice.json"),
)
"""What the programs of the choice before leave behind, beside the boards."""
_START_S: Final = 20.0
_STOP_S: Final = 120.0


class Hand:
    """Changes the host."""

    def __init__(self, machine: Machine, place: MeetingPlace) -> None:
        self._machine, self._place = machine, place

    @property
    def root(self) -> Path:
        return self._machine.root

    @property
    def has_environment(self) -> bool:
        """Whether the host knows where to go."""
        return self._below(ENVIRONMENT).exists()

    async def carry_out(self, standing: Standing) -> None:
        """Have the host be what it stands for; doing it again does no harm."""
        if standing.kind is Kind.HERE:
            self._save(ENVIRONMENT, render_meeting(meeting_of(standing)))
        elif standing.kind is Kind.JOINED and (papers := self._place.load_papers()) is not None:
            self._save(AGENT_TOKEN, papers.token)
            self._save(SERVICE_AUTHORITY, papers.authority, mode=0o644)
            self._save(ENVIRONMENT, papers.environment)
        else:
            return
        await self._machine.ask(["systemctl", "start", "--no-block", _TARGET], deadline_s=_START_S)

    async def leave(self) -> None:
        """Take it all back. The environment goes first: as long as it is there, units are started by it."""
        remove_file(self._below(ENVIRONMENT))
        await self._machine.ask(["systemctl", "stop", _TARGET, *_UNITS], deadline_s=_STOP_S)
        self._place.remove_papers()
        for path in (AGENT_TOKEN, SERVICE_AUTHORITY):
            remove_file(self._below(path))
        for name in _LEFT:
            remove_file(self.root / RUN / name)
        await asyncio.to_thread(shutil.rmtree, self.root / SERVICE, ignore_errors=True)

    def load_papers(self, standing: Standing) -> Papers | None:
        """What a host that joins this one is given; None before the service has made it."""
        try:
            return Papers(
                environment=render_meeting(meeting_of(standing)),
                token=self._below(AGENT_TOKEN).read_text("ascii").strip(),
                authority=self._below(SERVICE_AUTHORITY).read_text("ascii"),
            )
        except (OSError, ValueError):
            return None

    def _below(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def _save(self, path: str, text: str, mode: int = 0o600) -> None:
        """A unit may be waiting for it: what is the same already is left alone."""
        target = self._below(path)
        try:
            if target.read_text("utf-8") == text:
                return
        except (OSError, ValueError):
            pass
        save_file(target, text.encode(), mode=mode)


def meeting_of(standing: Standing) -> Meeting:
    """Where the hosts meet, of one that is the rendezvous host."""
    return Meeting(ip_address(standing.ip), standing.cluster_id, standing.infra_env_id)


def ip_of(papers: Papers) -> str:
    """Where the hosts meet, of what a rendezvous host gave."""
    found = parse_meeting(papers.environment)
    return str(found.ip) if found is not None else ""
