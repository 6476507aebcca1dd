# SPDX-License-Identifier: Apache-2.0
"""What can be installed from a generic medium: the releases that it has, or the one that it names."""

from __future__ import annotations

import logging
import platform
from pathlib import Path
from typing import Final, Protocol

from muster.errors import MusterError, UserError
from muster.model.medium import RELEASE_KEY
from muster.model.release import version_of
from muster.release.image_signature import require_signature
from muster.release.in_store import StoreSource
from muster.release.look import find_releases, load_release
from muster.release.model import Release
from muster.release.oci.client import Settings
from muster.release.oci.logins import Logins, parse_logins
from muster.release.oci.manifest import Descriptor
from muster.release.oci.reference import parse_reference
from muster.release.store.store import open_store
from muster.service.interactive.medium import GenericMedium
from muster.service.offers import Offer, Offers
from muster.service.rendezvous.release import ReleasePlace, SiteRelease
from muster.signature import parse_public_key

_logger: Final = logging.getLogger(__name__)
_ARCHITECTURES: Final = {"amd64": ("x86_64",), "arm64": ("aarch64", "arm64")}
_HERE: Final = {"x86_64": "amd64", "aarch64": "arm64"}


class Stock(Protocol):
    """Releases, and what people are told of them."""

    @property
    def offers(self) -> Offers: ...

    def find(self, version: str, architecture: str) -> Release:
        """The release that is meant; UserError when there is none."""

    async def fetch(self) -> None:
        """Get what is not there yet, however long that takes."""


class Carried:
    """The releases of a content store on the medium."""

    def __init__(self, medium: GenericMedium) -> None:
        assert medium.store is not None
        store = open_store(medium.store)
        self._store, self._key = store, medium.release_key
        self._untrusted = "its signature is being checked" if medium.release_key else ""
        self._images: list[tuple[str, Descriptor]] = []
        self._found: list[tuple[Offer, Release]] = []
        for each in find_releases(store):
            release = load_release(store, each)
            self._images.append((each.name, each.image))
            self._found.append(
                (_offer(release.version, each.name, release.architecture, not self._found), release)
            )

    @property
    def offers(self) -> Offers:
        return Offers(tuple(offer for offer, _ in self._found))

    def find(self, version: str, architecture: str) -> Release:
        if self._untrusted:
            raise UserError(
                f"the release on the medium is not installed: {self._untrusted}",
                hint="make the medium again with a release that is signed by the owner of the release key",
            )
        wanted = self.offers.find(version, architecture)
        for offer, release in self._found:
            if offer == wanted:
                return release
        raise UserError("the medium has no release on it", hint="make it again with a release")

    async def fetch(self) -> None:
        """All of it is here; a signature is checked if one is required."""
        if not self._key:
            return
        try:
            key = parse_public_key(self._key.encode(), Path(RELEASE_KEY))
            for name, image in self._images:
                source = StoreSource(self._store, image, name)
                await require_signature(source, parse_reference(name), image.digest, key)
        except MusterError as error:
            _logger.warning("%s; %s", error.message, error.hint)
            self._untrusted = error.message
        else:
            self._untrusted = ""


class Named:
    """The release that the medium names, from a registry as soon as that answers."""

    def __init__(self, medium: GenericMedium) -> None:
        self._image = medium.release_image
        self._architecture = _HERE.get(platform.machine(), platform.machine())
        logins = Logins()
        if medium.pull_secret:
            logins = parse_logins(medium.pull_secret, "the pull secret of the medium")
        settings = Settings(
            logins=logins,
            registries=medium.registries,
            authorities=(medium.trust_bundle,) if medium.trust_bundle else (),
        )
        self._release = SiteRelease(
            ReleasePlace(self._image, self._architecture, lambda: settings, key=medium.release_key)
        )

    @property
    def offers(self) -> Offers:
        return Offers((_offer(version_of(self._image), self._image, self._architecture, is_default=True),))

    def find(self, version: str, architecture: str) -> Release:
        return self._release.find(version, architecture)

    async def fetch(self) -> None:
        await self._release.fetch()


class Nothing:
    """A medium without a release: clusters can be described, but not installed."""

    def __init__(self, why: str = "the medium names no release, and has none on it") -> None:
        self._why = why

    @property
    def offers(self) -> Offers:
        return Offers()

    def find(self, _version: str, _architecture: str) -> Release:
        raise UserError(self._why, hint="make the medium again, with a release on it or with its address")

    async def fetch(self) -> None:
        """There is nothing to get."""


def stock_of(medium: GenericMedium) -> Stock:
    """What a medium can install; what it has goes before what it names."""
    try:
        if medium.store is not None:
            return Carried(medium)
        return Named(medium) if medium.release_image else Nothing()
    except MusterError as error:
        return Nothing(error.message)


def _offer(version: str, image: str, architecture: str, is_default: bool) -> Offer:
    return Offer(
        version=version,
        image=image,
        architectures=_ARCHITECTURES.get(architecture, (architecture,)),
        title=f"Kubernetes {version}",
        is_default=is_default,
    )
