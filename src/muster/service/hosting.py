# SPDX-License-Identifier: Apache-2.0
"""The whole service in one process: put together from its settings, served until it is told to end."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric import ec

from muster.errors import MusterError, UserError, cannot
from muster.frozen import dataclass
from muster.image.base_image import BaseImage
from muster.release.model import Release
from muster.service.adapters import (
    Addresses,
    EngineMedia,
    HostTies,
    HostTokens,
    SealedVault,
    Seals,
    SignedLinks,
)
from muster.service.api.app import Api
from muster.service.api.login import LoginDesk
from muster.service.api.operations import load_operations
from muster.service.api.table import ROUTES
from muster.service.api.table.route import PREFIX
from muster.service.audit import ACTOR, Audit
from muster.service.auth.guard import Guard
from muster.service.auth.host_keys import Challenges
from muster.service.auth.keys import load_key_ring
from muster.service.auth.login import Login, LoginSettings
from muster.service.auth.secrets import load_safe
from muster.service.auth.sessions import EndedSessions
from muster.service.auth.tokens import Tokens
from muster.service.clock import NOTABLE
from muster.service.committer import Committer
from muster.service.drivers.kubernetes import FindRelease, KubernetesDriver, SiteTerms
from muster.service.edge.certificate import ServedCertificate, Wanted
from muster.service.edge.connections import ROOMS
from muster.service.edge.given import Given
from muster.service.edge.headers import SecureHeaders
from muster.service.edge.limits import Limits
from muster.service.edge.limits import Settings as LimitSettings
from muster.service.edge.page import BUILT, Page
from muster.service.edge.paths import CleanPaths
from muster.service.edge.redirect import make_redirect
from muster.service.edge.server import serve
from muster.service.edge.split import Split
from muster.service.edge.tls import Identity, Moment, load_authority
from muster.service.engine import Engine
from muster.service.file_modes import protect_folder, refuse_shared
from muster.service.free_space import FreeSpace
from muster.service.house import House
from muster.service.log_archives import FOLDER, open_archives
from muster.service.media.asgi import Embedded
from muster.service.media.bases import KnownImages
from muster.service.media.compose import Composer
from muster.service.media.desk import Desk
from muster.service.media.signing import Signer
from muster.service.offers import Offers
from muster.service.react import react, time_passed
from muster.service.secret_store import discard_secrets, find_trouble, open_secret_store, tell_loss
from muster.service.service import Service
from muster.service.store.claim import Claim
from muster.service.surroundings import Surroundings
from muster.serving.connections import Connections, Room

_PATIENCE_S: Final = 60.0
_POOL_BYTES: Final = 1024
_SIGN_S: Final = 15.0


@dataclass(frozen=True)
class Settings:
    """What a service is started with."""

    data: Path
    """Keys and certificates; the database too, unless it is elsewhere."""
    database: str = field(default="", repr=False)
    url: str = ""
    """Where callers find it; by default where it listens."""
    media_url: str = ""
    names: tuple[str, ...] = ()
    """Names and addresses that its certificate is for, besides that of the URL."""
    certificate: Given | None = None
    """A certificate of the site; without one it makes its own."""
    password_hash: str = field(default="", repr=False)
    viewer_hash: str = field(default="", repr=False)
    """Of the password of people who may only look, and see no secrets."""
    token_keys: tuple[str, ...] = ()
    """Public keys (PEM) whose tokens are accepted too."""
    disabled: frozenset[str] = frozenset()
    """Validations that are not asked, unless a cluster has a list of its own of what it ignores."""
    offers: Offers = field(default_factory=Offers)
    images: Mapping[tuple[str, str], Callable[[], BaseImage]] = field(default_factory=dict)
    """Base images by architecture and version."""
    limits: LimitSettings = field(default_factory=LimitSettings)
    connections: Mapping[str, Room] = field(default_factory=lambda: ROOMS)
    site: SiteTerms = field(default_factory=SiteTerms)
    """What the one site says that it runs for, if there is one."""
    house: House = field(default_factory=House)
    page: Path = BUILT
    """The built files of the page for browsers."""
    discard_secrets: bool = False
    """Go on without secrets whose key is lost."""


@dataclass(frozen=True)
class Sockets:
    """Where a service listens."""

    api: socket.socket
    media: socket.socket | None = None
    """Plain HTTP for firmware, which gets signed addresses."""
    redirect: socket.socket | None = None
    """Plain HTTP, for people who forget the s."""


def now() -> datetime:
    """The time."""
    return datetime.now(UTC)


class Running:
    """A service that is put together."""

    def __init__(
        self,
        settings: Settings,
        sockets: Sockets,
        find_release: FindRelease,
        clock: Callable[[], datetime] = now,
    ) -> None:
        self.settings, self._sockets, self._clock = settings, sockets, clock
        protect_folder(make_folder(settings.data), is_listed=True)
        keys = self._keys = make_folder(settings.data / "keys")
        protect_folder(keys)
        url, media_url = _urls(settings, sockets)
        self.url, self.media_url = url, media_url
        names = (urlsplit(url).hostname or "localhost", *settings.names)
        self.certificate = ServedCertificate(Wanted(keys, names, settings.certificate, os.urandom), clock)
        ring = load_key_ring(keys, os.urandom, settings.token_keys)
        self.tokens = Tokens(ring)
        self.login = Login(
            LoginSettings(settings.password_hash, settings.viewer_hash), self.tokens, os.urandom
        )
        opened = open_secret_store(
            settings.database or settings.data, keys, os.urandom, discard=settings.discard_secrets
        )
        self._claim, self.store, self._lost = opened.claim, opened.store, opened.lost
        authority = "" if settings.certificate is not None else self.certificate.authority_id
        self._trouble = find_trouble(opened, ring, authority)
        self.engine = Engine(partial(react, disabled=settings.disabled))
        self.engine.load(opened.realms, clock())
        self._ended = EndedSessions(keys, clock().timestamp())
        vault = SealedVault(opened.safe)
        addresses = Addresses(url, media_url, lambda: self.identity.authority_pem)
        assert isinstance(ring.signing, ec.EllipticCurvePrivateKey)
        signer = Signer(ring.signing, clock)
        composer = Composer(KnownImages(settings.images))
        media = EngineMedia(self.engine, composer, Seals(signer, self.tokens, vault, clock), addresses)
        around = Surroundings(
            logs=open_archives(settings.data / FOLDER, self.store, self.engine.realms),
            free_space=None if self.store.is_shared else FreeSpace(settings.data),
            clock=clock,
            steady=time.monotonic,
            chance=_pooled(os.urandom),
            vault=vault,
            driver=KubernetesDriver(find_release, os.urandom, clock, settings.site),
            media=media,
            links=SignedLinks(self.tokens, url),
            host_tokens=HostTokens(
                self.tokens, Challenges(ring.signing, clock), HostTies(self.engine), clock
            ),
            offers=settings.offers,
            time_passed=partial(time_passed, disabled=settings.disabled),
            url=url,
            house=settings.house,
            find_release=_told(find_release),
            fingerprint=lambda: self.identity.fingerprint,
            actor=ACTOR.get,
            certificate_expires=lambda: self.identity.expires_at,
            warnings=lambda: (*self._trouble, *self.certificate.warnings()),
        )
        self._committer = Committer(self.store)
        self.service = Service(self.engine, self.store, self._committer, around)
        self._desk = Desk(media, composer, signer)
        self._embedded = Embedded(self._desk, _PATIENCE_S)
        self.page = Page(settings.page)
        self.app = self._make_app()

    @property
    def identity(self) -> Identity:
        """What callers see of it now."""
        return self.certificate.identity

    def _make_app(self) -> Any:
        load_operations()
        house = self.settings.house
        ties = HostTies(self.engine, house.meeting, admits_keyless=house.admits_keyless)
        self.guard = Guard(self.tokens, self._ended, ties)
        desk = LoginDesk(self.login, self._ended, lambda: self._clock().timestamp())
        api = Api(self.service, ROUTES, self.guard, desk, Audit(self._clock, time.monotonic))
        limited = Limits(Split(api, self._embedded, self.page), self.settings.limits, asyncio_clock)
        # Limits go by the path, so it has to be the one that the interface sees.
        return SecureHeaders(CleanPaths(limited, PREFIX), _request_names(os.urandom), PREFIX)

    @contextlib.asynccontextmanager
    async def serve(self, first: Callable[[], Awaitable[None]] | None = None) -> AsyncIterator[None]:
        """Serve until the body ends; requests under way get a moment to end.

        ``first``: what has to be done before anybody is answered; who asks meanwhile waits.
        """
        async with contextlib.AsyncExitStack() as stack:
            if self._claim is not None:
                stack.callback(self._claim.release)
            stack.callback(self.store.close)
            stack.callback(self._embedded.close)
            stack.push_async_callback(self._committer.close)
            stack.callback(self.service.close)
            stack.push_async_callback(self.service.preparer.close)
            stack.push_async_callback(self.service.readiness.close)
            await self._resume()
            timers = asyncio.ensure_future(self.service.run())
            stack.push_async_callback(_end, timers)
            stack.push_async_callback(self.service.upkeep.close)
            await self.service.upkeep.begin()
            if self._claim is not None:
                stack.push_async_callback(_end, asyncio.ensure_future(self._stay(self._claim)))
            stack.push_async_callback(_end, asyncio.ensure_future(self.certificate.watch()))
            self.service.preparer.look_at_all()
            if first is not None:
                await first()
            if self._sockets.media is not None:
                await stack.enter_async_context(_serve_media(self._desk, self._sockets.media))
            await self._listen(stack)
            stack.callback(self.service.news.close)
            yield

    async def _listen(self, stack: contextlib.AsyncExitStack) -> None:
        """Answer browsers that forget the s, and everybody else."""
        if self._sockets.redirect is not None:
            port = self._sockets.api.getsockname()[1]
            plain = serve(make_redirect(port), self._sockets.redirect, Connections(asyncio_clock, ROOMS))
            await stack.enter_async_context(plain)
        connections = Connections(asyncio_clock, self.settings.connections)
        secure = serve(self.app, self._sockets.api, connections, self.certificate.context)
        await stack.enter_async_context(secure)

    async def _resume(self) -> None:
        """Nobody is blamed for the time in which there was no service."""
        last = None if self._claim is None else self._claim.last_seen
        if last is not None and abs(away := self._clock() - last) >= NOTABLE:
            self.service.was_away(away)
        self.service.judge_again(self.settings.disabled)
        if self.store.lost:
            await self.service.write_all(lambda draft: tell_loss(draft, self.store.lost))
        if self._lost:
            await self.service.write_all(lambda draft: discard_secrets(draft, self._lost))
            await asyncio.to_thread(self.store.note_keys)

    async def _stay(self, claim: Claim) -> None:
        """Leave a sign of life now and then."""
        while True:
            claim.touch(self._clock())
            await asyncio.sleep(_SIGN_S)


def _serve_media(desk: Desk, listening: socket.socket) -> AbstractAsyncContextManager[None]:
    """The server for firmware; what it is made of takes a while to load, and many services have none."""
    from muster.service.media.server import serve_media
    from muster.serving.server import Place

    return serve_media(desk, Place(listening, _PATIENCE_S))


def _told(find: FindRelease) -> Callable[[str, str], Release | str]:
    """The same, with the reason as an answer when there is none."""

    def look(version: str, architecture: str) -> Release | str:
        try:
            return find(version, architecture)
        except MusterError as error:
            return error.message

    return look


def _pooled(chance: Callable[[int], bytes]) -> Callable[[int], bytes]:
    """The same chance, fetched in larger pieces: each is a system call, and every step is named by it."""
    pool = b""

    def take(count: int) -> bytes:
        nonlocal pool
        if count > len(pool):
            pool = chance(max(_POOL_BYTES, count))
        taken, pool = pool[:count], pool[count:]
        return taken

    return take


def _request_names(chance: Callable[[int], bytes]) -> Callable[[], str]:
    """Names of requests, no two alike: by chance once, then counted, because chance costs a system call."""
    first, numbers = chance(8).hex(), itertools.count(1)
    return lambda: f"{first}-{next(numbers):x}"


def asyncio_clock() -> float:
    """Seconds that only ever grow."""
    return asyncio.get_running_loop().time()


async def _end(task: asyncio.Future[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError, MusterError):
        await task


def _urls(settings: Settings, sockets: Sockets) -> tuple[str, str]:
    from muster.serving.listen import render_url

    url = settings.url or render_url(sockets.api, is_secure=True)
    media = settings.media_url
    if not media:
        media = render_url(sockets.media, is_secure=False) if sockets.media is not None else url
    return url.rstrip("/"), media.rstrip("/")


def make_keys(data: Path) -> Path:
    """The keys that services side by side have in common, in a directory where there may be some already."""
    refuse_shared(make_folder(data))
    keys = make_folder(data / "keys")
    load_authority(keys, Moment(now(), os.urandom))
    load_key_ring(keys, os.urandom)
    load_safe(keys, os.urandom)
    return keys


def make_folder(path: Path) -> Path:
    """A directory that is for us alone, if it was not there yet."""
    if path.exists() and not path.is_dir():
        raise UserError(f"{path} is not a directory", hint="name a directory, which may be a new one")
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise cannot("create", path, error) from error
    return path
