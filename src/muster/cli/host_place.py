# SPDX-License-Identifier: Apache-2.0
"""What the programs of a host share: where the service is, the host's own token, how to install it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import msgspec

from muster.board import FOLDER
from muster.client.target import Target
from muster.errors import ExternalError, MediaError, MusterError
from muster.files import save_file
from muster.frozen import dataclass
from muster.machine import Machine
from muster.model.meeting import AGENT_TOKEN, ENVIRONMENT, GENERIC_MARK, SERVICE_AUTHORITY, parse_environment
from muster.model.wire.steps import InstallCmdRequest

_REQUEST: Final = "install.json"
_UNIT: Final = "muster-install.service"
_LOOK_S: Final = 0.5


@dataclass(frozen=True)
class Place:
    """What the medium says to the programs of a host."""

    url: str
    infra_env_id: str
    medium_token: str
    authority: Path

    def target(self, own_token: str = "") -> Target:
        """The service; the token that is good for this host alone goes before that of the medium."""
        return Target(self.url, token=own_token or self.medium_token, authority=self.authority)


def load_place(root: Path) -> Place:
    """Where this host is to go."""
    try:
        values = parse_environment(_below(root, ENVIRONMENT).read_text("utf-8"))
        token = _below(root, AGENT_TOKEN).read_text("ascii").strip()
        authority = _below(root, SERVICE_AUTHORITY)
        return Place(values["SERVICE_BASE_URL"].rstrip("/"), values["INFRA_ENV_ID"], token, authority)
    except (OSError, ValueError, KeyError) as error:
        raise MediaError(
            f"the medium does not say where this host is to go: {error}",
            hint="make it again with `muster agent create image`",
        ) from error


async def await_papers(root: Path, sleep: Callable[[float], Awaitable[None]]) -> None:
    """On a host of a generic medium, wait until the service that was chosen has made what lets hosts in."""
    papers = [_below(root, path) for path in (AGENT_TOKEN, SERVICE_AUTHORITY)]
    while _below(root, GENERIC_MARK).exists() and not all(path.exists() for path in papers):
        await sleep(_LOOK_S)


def _below(root: Path, path: str) -> Path:
    return root / path.lstrip("/")


class TokenFile:
    """Keeps the host's own token, as long as the machine is not booted anew."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._path = folder / "host-token"

    def load(self) -> str:
        try:
            return self._path.read_text("ascii").strip()
        except (OSError, ValueError):
            return ""

    def save(self, token: str) -> None:
        self._path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        save_file(self._path, token.encode(), mode=0o600)


class Order(msgspec.Struct, frozen=True):
    """What the installer is told to do."""

    step_id: str
    request: InstallCmdRequest


def load_order(folder: Path = FOLDER) -> Order:
    """What the agent wrote down for the installer."""
    path = folder / _REQUEST
    try:
        return msgspec.json.decode(path.read_bytes(), type=Order)
    except (OSError, msgspec.DecodeError) as error:
        raise MediaError(
            f"{path} does not say what to install: {error}",
            hint="the agent writes it when the service asks for the installation",
        ) from error


class UnitInstaller:
    """The installer as a unit of its own: it goes on when the agent is killed or restarted."""

    def __init__(self, machine: Machine, host_id: str, folder: Path = FOLDER) -> None:
        self._machine, self._host_id, self._folder = machine, host_id, folder

    async def start(self, request: InstallCmdRequest, step_id: str) -> None:
        if request.host_id != self._host_id:
            raise ExternalError(
                f"the installation is for host {request.host_id}, not for this one",
                hint="see the service's log",
            )
        if await self.is_busy():
            if self._runs(step_id):
                return
            await self.stop()  # It is of another installation, which the service has given up.
        try:
            save_file(self._folder / _REQUEST, msgspec.json.encode(Order(step_id, request)), mode=0o600)
        except MusterError as error:
            raise ExternalError(f"the installation cannot begin: {error.message}", hint=error.hint) from error
        said = await self._machine.ask(["systemctl", "start", "--no-block", _UNIT], deadline_s=30)
        if not said.is_ok:
            raise ExternalError(
                f"the installer cannot be started: {said.trouble}", hint=f"systemctl status {_UNIT}"
            )

    def _runs(self, step_id: str) -> bool:
        try:
            return load_order(self._folder).step_id == step_id
        except MediaError:
            return False

    async def boot_disk(self) -> str:
        from muster.node.boot_order import boot_next

        return await boot_next(self._machine)

    async def is_busy(self) -> bool:
        said = await self._machine.ask(["systemctl", "is-active", _UNIT], deadline_s=30)
        return said.out.strip() in ("active", "activating", "reloading")

    async def stop(self) -> None:
        await self._machine.ask(["systemctl", "stop", _UNIT], deadline_s=50)
