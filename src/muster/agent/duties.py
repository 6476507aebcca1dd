# SPDX-License-Identifier: Apache-2.0
"""What an agent does for each kind of step: checks, the inventory, the installation, logs."""

from __future__ import annotations

import logging
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Protocol

import msgspec

from muster.agent.inventory.collect import collect
from muster.agent.medium import find_medium_trouble
from muster.agent.steps.logs_gather import collect_logs
from muster.agent.steps.outcome import BAD_STEP, BadArguments, Outcome, read, reply
from muster.agent.steps.table import run_step
from muster.client.host import HostCalls
from muster.errors import MusterError
from muster.frozen import dataclass
from muster.machine import Machine
from muster.model.wire.steps import InstallCmdRequest, LogsGatherCmdRequest, Step

MEDIUM_GONE: Final = 256
_logger: Final = logging.getLogger(__name__)


class Installer(Protocol):
    """What installs a host; it is a program of its own, which outlives the agent."""

    async def start(self, request: InstallCmdRequest, step_id: str) -> None:
        """Begin, unless one is under way; a MusterError says why that cannot be."""

    async def stop(self) -> None:
        """Stop it, if it is under way and the disk is not being written any more."""

    async def is_busy(self) -> bool:
        """Whether it is under way."""

    async def boot_disk(self) -> str:
        """Restart the host from the disk that was written; why that cannot be done from here, or nothing."""


@dataclass(frozen=True)
class Duties:
    """What a host can be asked for."""

    machine: Machine
    calls: HostCalls
    installer: Installer
    scratch: Path = Path("/var/tmp")  # noqa: S108 - a folder of our own is made in it

    async def do(self, step: Step) -> Outcome:
        """Do what is asked; there is an outcome in all cases."""
        trouble = await find_medium_trouble(self.machine)
        if trouble:
            return Outcome(exit_code=MEDIUM_GONE, error=trouble)
        try:
            return await self._do(step)
        except BadArguments as error:
            return Outcome(exit_code=BAD_STEP, error=str(error))
        except MusterError as error:
            return Outcome(
                exit_code=1, error=f"{error.message}; {error.hint}" if error.hint else error.message
            )

    async def _do(self, step: Step) -> Outcome:
        args = step.args or ()
        match step.step_type:
            case "inventory":
                return await self._inventory()
            case "install":
                await self.installer.start(read(args, InstallCmdRequest), step.step_id or "")
                return Outcome()
            case "stop-installation":
                await self.installer.stop()
                return Outcome()
            case "logs-gather":
                return await self._logs(read(args, LogsGatherCmdRequest))
            case _:
                return await run_step(self.machine, step.step_type or "", args)

    async def _inventory(self) -> Outcome:
        found = await collect(self.machine)
        for each in found.troubles:
            _logger.warning("inventory: %s", each)
        return reply(found.inventory)

    async def _logs(self, request: LogsGatherCmdRequest) -> Outcome:
        await self.calls.logs_progress("collecting")
        with TemporaryDirectory(prefix="muster-logs-", dir=self.scratch) as folder:
            archive = await collect_logs(self.machine, request, Path(folder))
            await self.calls.logs(request.cluster_id, archive)
        await self.calls.logs_progress("completed")
        return Outcome(msgspec.json.encode({"sent": True}).decode())
