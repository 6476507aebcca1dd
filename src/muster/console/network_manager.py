# SPDX-License-Identifier: Apache-2.0
"""NetworkManager: changes that it takes back by itself, even if the console is gone by then."""

from __future__ import annotations

import json
from typing import Final

from muster.console.profile import PROFILE_FIELDS, Profile, parse_profile, render_commands
from muster.console.wish import Wish
from muster.errors import ExternalError
from muster.machine import Machine
from muster.run import Argument, Said

TRIAL_S: Final = 60
_ASK_S: Final = 10.0
_CHANGE_S: Final = 40.0
_NAME: Final = "org.freedesktop.NetworkManager"
_PATH: Final = "/org/freedesktop/NetworkManager"
_FLAGS: Final = 0x1 | 0x2 | 0x4
"""Of a checkpoint: it replaces older ones; new profiles are deleted and new interfaces taken down again."""


class NetworkManager:
    """What a host's NetworkManager is asked for."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    async def profile_of(self, device: str) -> Profile:
        """How an interface is set up now."""
        said = await self._machine.ask(
            ["nmcli", "-g", "GENERAL.CON-UUID", "device", "show", device], deadline_s=_ASK_S
        )
        if not said.is_ok:
            raise _trouble("NetworkManager does not tell how the interface is set up", said)
        uuid = said.out.strip().strip("-")
        if not uuid:
            return Profile()
        fields = ",".join(PROFILE_FIELDS)
        shown = await self._machine.ask(
            ["nmcli", "-e", "no", "-g", fields, "connection", "show", "uuid", uuid], deadline_s=_ASK_S
        )
        if not shown.is_ok:
            raise _trouble("NetworkManager does not show the profile of the interface", shown)
        return parse_profile(uuid, shown.out)

    async def begin(self) -> str:
        """Remember how everything is; it comes back after a while, unless it is kept."""
        said = await self._call("CheckpointCreate", "aouu", "0", str(TRIAL_S), str(_FLAGS), as_json=True)
        try:
            (path,) = json.loads(said.out)["data"]
            return str(path)
        except (ValueError, KeyError, TypeError):
            raise _trouble("NetworkManager does not remember how the network is", said) from None

    async def apply(self, wish: Wish, profile: Profile) -> None:
        """Change it; an ExternalError says what NetworkManager says."""
        for argv in render_commands(wish, profile):
            said = await self._machine.ask(argv, deadline_s=_CHANGE_S)
            if not said.is_ok:
                raise _trouble("NetworkManager refuses", said)

    async def keep(self, checkpoint: str) -> bool:
        """Keep the change; False when it is too late."""
        return (await self._call("CheckpointDestroy", "o", checkpoint)).is_ok

    async def undo(self, checkpoint: str) -> bool:
        """Take the change back at once; False when that has happened already."""
        return (await self._call("CheckpointRollback", "o", checkpoint)).is_ok

    async def _call(self, method: str, *arguments: str, as_json: bool = False) -> Said:
        argv: list[Argument] = ["busctl", "call", _NAME, _PATH, _NAME, method, *arguments]
        if as_json:
            argv.insert(1, "--json=short")
        return await self._machine.ask(argv, deadline_s=_ASK_S)


def _trouble(what: str, said: Said) -> ExternalError:
    return ExternalError(f"{what}: {said.trouble}", hint="see the journal of NetworkManager")
