# SPDX-License-Identifier: Apache-2.0
"""What the service is given: clock, randomness, store, media, tokens and the driver of releases."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from datetime import datetime
from typing import Protocol

from muster.frozen import dataclass
from muster.model.wire.infra_env import HostStaticNetworkConfig
from muster.release.model import Release
from muster.service.background import Background, LoopBackground
from muster.service.free_space import FreeSpace
from muster.service.house import House
from muster.service.log_archives import LogArchives
from muster.service.offers import Offers
from muster.service.realm import Draft
from muster.service.release_driver import ReleaseDriver
from muster.service.state import InfraEnv, Kind
from muster.service.store.port import Change


class Committer(Protocol):
    """What makes changes durable."""

    async def commit(self, changes: Sequence[Change]) -> None:
        """Return when they are; ConflictError or StoreError when they are not."""

    def submit(self, changes: Sequence[Change]) -> asyncio.Future[None]:
        """Write them after all that were given before."""

    async def settled(self, *realms: str) -> None:
        """Return when all that is in memory of realms now is durable."""

    def is_stale(self, realm: str) -> bool:
        """Whether something of a realm was not written, so that it has to be loaded again."""

    def renew(self, realm: str) -> None:
        """A realm was loaded again."""

    def pending(self, realm: str) -> asyncio.Future[None] | None:
        """What is on its way to the store, if anything is."""


class Vault(Protocol):
    """What hides secrets where they are kept."""

    def seal(self, subject: str, field: str, text: str) -> str: ...

    def open(self, subject: str, field: str, sealed: str) -> str: ...


class Media(Protocol):
    """What makes boot media of infra-envs."""

    def url_of(self, infra_env: InfraEnv) -> tuple[str, datetime]:
        """Where its medium can be had, and until when."""

    def file_url_of(self, infra_env: InfraEnv, query: dict[str, str]) -> tuple[str, datetime]:
        """Where a file of it can be had, and until when."""

    def ignition_of(self, infra_env: InfraEnv) -> bytes: ...

    def networks_of(self, infra_env: InfraEnv) -> bytes:
        """Its static networks as a tar archive."""

    def initrd_of(self, infra_env: InfraEnv) -> bytes | None:
        """Its static networks for an initial RAM disk; None when there are none."""

    def script_of(self, infra_env: InfraEnv) -> str:
        """For iPXE: boot."""

    def redirect_of(self, infra_env: InfraEnv) -> str:
        """For iPXE: ask again, and say which card it is."""

    def check_networks(self, networks: Iterable[HostStaticNetworkConfig]) -> None:
        """UserError when hosts could not use these."""


class Links(Protocol):
    """What makes addresses that open one thing without a login."""

    def sign(self, path: str, expires: datetime, *, cluster_id: str) -> str: ...


class HostCredentials(Protocol):
    """What gives hosts tokens of their own."""

    def issue(self, infra_env_id: str, host_id: str, epoch: int | None = None) -> str: ...

    def challenge(self, infra_env_id: str, host_id: str) -> str:
        """What a host has to sign to prove that it has its key."""

    def is_proof(self, key: str, infra_env_id: str, host_id: str, signed: tuple[str, str], /) -> bool:
        """Whether a challenge was signed with a key."""


def no_release(version: str, _architecture: str) -> Release | str:
    """There is none."""
    return f"there is no release {version}"


@dataclass(frozen=True)
class Surroundings:
    """What the service is given: nothing of the world reaches it otherwise."""

    clock: Callable[[], datetime]
    chance: Callable[[int], bytes]
    vault: Vault
    driver: ReleaseDriver
    media: Media
    links: Links
    host_tokens: HostCredentials
    offers: Offers
    time_passed: Callable[[Draft, Kind, str, bool], None]
    """What a deadline means that has come; the last tells whether a host has been silent for too long."""
    background: Background = field(default_factory=LoopBackground)
    url: str = ""
    """Where callers find the service; empty without callers."""
    house: House = field(default_factory=House)
    find_release: Callable[[str, str], Release | str] = no_release
    """The release of a version for an architecture, or why it is not there."""
    fingerprint: Callable[[], str] = str
    """Of the certificate that callers see now."""
    logs: LogArchives | None = None
    """Where the logs of hosts are kept; none: in the store."""
    free_space: FreeSpace | None = None
    """Of the file system with the database; none: it is not of this machine."""
    steady: Callable[[], float] | None = None
    """A monotonic clock; None when the clock is never set."""
    actor: Callable[[], str] = str
    """Who sent the request that is being answered; empty when there is none."""
    certificate_expires: Callable[[], datetime | None] = lambda: None
    """When the certificate expires that callers see now."""
    warnings: Callable[[], tuple[str, ...]] = tuple
    """What is wrong with the service itself, for all who ask."""
