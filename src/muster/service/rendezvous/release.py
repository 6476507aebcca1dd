# SPDX-License-Identifier: Apache-2.0
"""The release of a site: on the medium, or else at a registry as soon as that answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import field
from pathlib import Path
from typing import Final, TypeAlias

from muster.errors import MusterError, UserError
from muster.frozen import dataclass
from muster.model.plan import Plan
from muster.release.layers import read_files
from muster.release.mirror.origins import nearest, open_origins
from muster.release.model import RELEASE_FILE, Release
from muster.release.oci.client import Settings
from muster.release.oci.logins import Logins, parse_logins
from muster.release.oci.reference import parse_reference
from muster.release.text import parse_release

_LARGEST: Final = 64 << 20
_FIRST_S: Final = 1.0
_LONGEST_S: Final = 10.0
_logger: Final = logging.getLogger(__name__)


OnFound: TypeAlias = Callable[[Release], Awaitable[None]]


async def _tell_nobody(_release: Release) -> None:
    pass


@dataclass(frozen=True)
class ReleasePlace:
    """Where a release is."""

    image: str
    architecture: str
    """As Go names it."""
    settings: Settings = field(default_factory=Settings)
    root: Path = Path("/")
    """Where the medium is looked for."""


def place_of(plan: Plan) -> ReleasePlace:
    """Where the release of a site is."""
    return ReleasePlace(plan.release_image, plan.architecture, settings_of(plan))


class SiteRelease:
    """A release that is fetched while the hosts come together; until it is there it says what is wrong."""

    def __init__(self, place: ReleasePlace) -> None:
        self._place = place
        self._found: Release | None = None
        self._trouble = "it is being fetched"

    def find(self, _version: str, _architecture: str) -> Release:
        """The release, whatever version is asked for: a site has one."""
        if self._found is None:
            raise UserError(
                f"the release {self._place.image} is not there yet: {self._trouble}",
                hint="check the mirror registry of the site, and the way to it",
            )
        return self._found

    async def fetch(self, on_found: OnFound = _tell_nobody) -> None:
        """Fetch it, however often that takes; who is to be told of it is, before anybody can use it."""
        pause_s = _FIRST_S
        while self._found is None:
            try:
                release = await self._read()
                await on_found(release)
                self._found = release
            except MusterError as error:
                if error.message != self._trouble:
                    _logger.warning("the release cannot be fetched: %s; %s", error.message, error.hint)
                self._trouble = error.message
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_S)

    async def _read(self) -> Release:
        place = self._place
        async with open_origins(place.root, place.settings) as origins:
            source = await nearest(origins, parse_reference(place.image))
            files = await read_files(source, (RELEASE_FILE,), architecture=place.architecture, limit=_LARGEST)
        if RELEASE_FILE not in files:
            raise UserError(
                f"{place.image} is no release of Kubernetes",
                hint="name one that `muster release build` made, and mirror it to the site",
            )
        return parse_release(files[RELEASE_FILE], place.image)


def settings_of(plan: Plan) -> Settings:
    """How the registries of a site are reached."""
    text = plan.pull_secret.reveal()
    return Settings(
        logins=parse_logins(text, "the pull secret of the site") if text else Logins(),
        registries=plan.registries,
        authorities=(plan.trust_bundle,) if plan.trust_bundle else (),
    )
