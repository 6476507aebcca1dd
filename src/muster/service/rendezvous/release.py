# SPDX-License-Identifier: Apache-2.0
"""The release of a site: on the medium, or else at a registry as soon as that answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from muster.errors import MusterError, UserError
from muster.frozen import dataclass
from muster.model.medium import RELEASE_KEY
from muster.model.plan import Plan
from muster.release.model import RELEASE_FILE, Release
from muster.release.oci.logins import Logins, parse_logins
from muster.release.oci.reference import parse_reference
from muster.release.off_loop import off_loop
from muster.release.text import parse_release

if TYPE_CHECKING:
    from muster.model.site import Site
    from muster.release.mirror.sides import Origin
    from muster.release.oci.client import Settings
    from muster.release.ports import Source
    from muster.service.rendezvous.medium import Medium

_LARGEST: Final = 64 << 20
_FIRST_S: Final = 1.0
_LONGEST_S: Final = 10.0
_logger: Final = logging.getLogger(__name__)


OnFound: TypeAlias = Callable[[Release], Awaitable[None]]
OnTrouble: TypeAlias = Callable[[str], Awaitable[None]]


def _no_settings() -> Settings:
    from muster.release.oci.client import Settings

    return Settings()


def _nothing_refused(_kind: str) -> str:
    return ""


async def _tell_nobody(_news: object) -> None:
    pass


@dataclass(frozen=True)
class ReleasePlace:
    """Where a release is."""

    image: str
    architecture: str
    """As Go names it."""
    settings: Callable[[], Settings] = _no_settings
    root: Path = Path("/")
    """Where the medium is looked for."""
    key: str = ""
    """The public key (PEM) whose owner must have signed it; empty when no signature is required."""
    kind: str = ""
    """The kind that the medium was made for; empty when it does not say."""
    find_refused: Callable[[str], str] = _nothing_refused
    """Why a kind of release does not do what the site asks for; empty when it does."""


def place_of(medium: Medium, root: Path = Path("/")) -> ReleasePlace:
    """Where the release of a site is."""
    plan = medium.plan
    return ReleasePlace(
        image=plan.release_image,
        architecture=plan.architecture,
        settings=partial(settings_of, plan),
        root=root,
        key=plan.release_key,
        kind=plan.release_kind,
        find_refused=partial(find_refused, medium.site),
    )


def find_refused(site: Site, kind: str) -> str:
    """Why a kind of release does not do what a site asks for; empty when it does."""
    from muster.config.rules.settings import settings_problems
    from muster.model.catalogue import Severity

    problems = settings_problems(site, kind)
    return "; ".join(each.message for each in problems if each.severity is Severity.ERROR)


def check_kind(place: ReleasePlace, found: Release) -> None:
    """Refuse a release of another kind than that of the medium, with a UserError.

    If the medium does not say the kind, the settings of the site are judged now.
    """
    if place.kind and place.kind != found.kind:
        raise UserError(
            f"the medium was made for a release of kind {place.kind},"
            f" and {place.image} is of kind {found.kind}",
            hint="make the medium again with `muster agent create image`, and boot all hosts from it",
        )
    if not place.kind and (why := place.find_refused(found.kind)):
        hint = "change the site's files, make the medium again, and boot all hosts from it"
        raise UserError(why, hint=hint)


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

    async def fetch(self, on_found: OnFound = _tell_nobody, on_trouble: OnTrouble = _tell_nobody) -> None:
        """Fetch it, however often that takes; who is told of it has it already, and of each new trouble."""
        pause_s, told = _FIRST_S, self._trouble
        while True:
            try:
                if told != self._trouble:
                    await on_trouble(self._trouble)
                    told = self._trouble
                self._found = self._found or await self._read()
                await on_found(self._found)
            except MusterError as error:
                if error.message != self._trouble:
                    _logger.warning("the release cannot be fetched: %s; %s", error.message, error.hint)
                self._trouble = error.message
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_S)
            else:
                return

    async def _read(self) -> Release:
        place = self._place
        # What speaks with registries takes slow hosts seconds to load: others are answered meanwhile.
        await off_loop(_load)
        from muster.release.layers import read_files
        from muster.release.mirror.origins import open_origins

        async with open_origins(place.root, place.settings()) as origins:
            source = await _trusted(origins, place)
            files = await read_files(source, (RELEASE_FILE,), architecture=place.architecture, limit=_LARGEST)
        if RELEASE_FILE not in files:
            raise UserError(
                f"{place.image} is no release of Kubernetes",
                hint="name one that `muster release build` made, and mirror it to the site",
            )
        found = parse_release(files[RELEASE_FILE], place.image)
        await off_loop(check_kind, place, found)
        return found


async def _trusted(origins: Sequence[Origin], place: ReleasePlace) -> Source:
    """The release image by its digest, with a valid signature if one is required.

    A tag is resolved once: what is read later is what was checked.
    """
    from muster.release.image_signature import require_signature
    from muster.release.mirror.origins import nearest

    image = parse_reference(place.image)
    source = await nearest(origins, image)
    if image.digest is None:
        image = replace(image, digest=(await source.root()).digest)
        source = await nearest(origins, image)
    assert image.digest is not None
    if place.key:
        from muster.signature import parse_public_key

        key = parse_public_key(place.key.encode(), Path(RELEASE_KEY))
        await require_signature(source, image, image.digest, key)
    return source


def _load() -> None:
    import_module("muster.release.mirror.origins")
    import_module("muster.release.layers")
    import_module("muster.release.image_signature")


def settings_of(plan: Plan) -> Settings:
    """How the registries of a site are reached."""
    from muster.release.oci.client import Settings

    text = plan.pull_secret.reveal()
    return Settings(
        logins=parse_logins(text, "the pull secret of the site") if text else Logins(),
        registries=plan.registries,
        authorities=(plan.trust_bundle,) if plan.trust_bundle else (),
    )
