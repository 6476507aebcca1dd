# SPDX-License-Identifier: Apache-2.0
"""The client of registries: manifests through mirrors, blobs that go on after a break, tags, and pushing.

async with open_client(Settings(logins=parse_logins(pull_secret))) as client:
    found = await client.manifest(parse_reference("registry.example.com/release:1.2"))
    async with aclosing(client.blob(found.reference, found.manifest.layers[0])) as chunks:
        ...
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import field, replace
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

from muster.errors import MusterError, UserError
from muster.frozen import dataclass
from muster.model.registries import RegistriesConf
from muster.release.oci.auth import Access
from muster.release.oci.digest import Digest, digest_of, is_digest
from muster.release.oci.download import Wanted, stream_blob
from muster.release.oci.logins import Logins
from muster.release.oci.manifest import (
    INDEXES,
    LARGEST_MANIFEST,
    MANIFESTS,
    Descriptor,
    Manifest,
    parse_manifest,
)
from muster.release.oci.patience import Patience, persist
from muster.release.oci.places import find_places, is_insecure, nowhere
from muster.release.oci.proxies import Proxy
from muster.release.oci.reference import Reference
from muster.release.oci.session import Ask, Session, refused
from muster.release.oci.transport import Limits, open_transport
from muster.release.oci.trouble import Damaged, Unreachable
from muster.release.oci.upload import Content, Pushed, Sending, send_blob, send_manifest

_ACCEPT: Final = ", ".join((*MANIFESTS, *INDEXES))
_NEXT: Final = re.compile(r'<([^>]*)>\s*;[^,]*\brel="?next"?', re.IGNORECASE)
_LARGEST_LIST: Final = 4 << 20
_MOST_PAGES: Final = 10_000
_PULL, _PUSH = "pull", "pull,push"


@dataclass(frozen=True)
class Settings:
    """What a client knows about the world."""

    logins: Logins = field(default_factory=Logins)
    registries: RegistriesConf = field(default_factory=RegistriesConf)
    insecure: frozenset[str] = frozenset()
    """Registries (host, and port if any) that need no TLS, besides those that registries.conf says so of."""
    authorities: tuple[str, ...] = ()
    """Texts in PEM form, besides the authorities of the system."""
    proxy: Proxy = field(default_factory=Proxy)
    limits: Limits = field(default_factory=Limits)
    patience: Patience = field(default_factory=Patience)


@dataclass(frozen=True)
class Found:
    """An image that a registry has."""

    manifest: Manifest
    reference: Reference
    """Its name at the place that answered, by digest; its blobs are there, too."""


class Client:
    """Speaks with registries. See `open_client`."""

    def __init__(self, session: Session, settings: Settings) -> None:
        self._session, self._settings = session, settings

    async def manifest(self, reference: Reference) -> Found:
        """The manifest of an image, from the first place that has it; none is asked twice before all were."""
        places = find_places(self._settings.registries, reference)
        return await persist(lambda: self._find(reference, places), self._settings.patience)

    async def manifest_there(self, reference: Reference) -> Manifest | None:
        """The manifest of an image in this very registry, without mirrors; None when it has none."""
        return await persist(lambda: self._manifest(reference, optional=True), self._settings.patience)

    def blob(self, reference: Reference, blob: Descriptor, offset: int = 0) -> AsyncGenerator[bytes, None]:
        """The bytes of a blob from an offset on, at the place where its manifest was found."""
        wanted = Wanted(self._access(reference, _PULL), blob)
        return stream_blob(self._session, wanted, offset, self._settings.patience)

    async def has_blob(self, reference: Reference, blob: Descriptor) -> bool:
        """Whether this very registry has a blob in a repository, as large as it should be; it is not read."""
        access = self._access(reference, _PULL)
        return await persist(lambda: self._has_blob(access, blob), self._settings.patience)

    async def tags(self, reference: Reference) -> tuple[str, ...]:
        """All tags of a repository, without mirrors."""
        access = self._access(reference, _PULL)
        found: list[str] = []
        target = f"{access.repository}/tags/list?n=1000"
        for _ in range(_MOST_PAGES):
            tags, following = await persist(
                lambda page=target: self._tags_page(access, page),  # type: ignore[misc]
                self._settings.patience,
            )
            found += tags
            if not following or following == target:
                return tuple(dict.fromkeys(found))
            target = following
        raise Unreachable(f"{access.name} has tags without end", hint="check the registry", passing=False)

    async def push_blob(
        self, reference: Reference, blob: Descriptor, content: Content, *, mount: str = ""
    ) -> Pushed:
        """Bring a blob into a repository, from another one of the registry (``mount``) if that has it."""
        access = self._access(reference, _PUSH)
        sending = Sending(access, blob, content, "" if mount == access.repository else mount)
        return await persist(lambda: send_blob(self._session, sending), self._settings.patience)

    async def push_manifest(self, reference: Reference, manifest: Manifest) -> None:
        """Bring a manifest to where its blobs are already, by the reference's tag or else by its digest."""
        access = self._access(reference, _PUSH)
        wanted = reference.tag or manifest.digest
        await persist(lambda: send_manifest(self._session, access, manifest, wanted), self._settings.patience)

    def _access(self, reference: Reference, actions: str) -> Access:
        settings = self._settings
        insecure = is_insecure(settings.registries, settings.insecure, reference)
        return Access(reference.registry, reference.repository, actions, insecure=insecure)

    async def _find(self, reference: Reference, places: tuple[Reference, ...]) -> Found:
        failures: list[tuple[Reference, MusterError]] = []
        for place in places:
            try:
                manifest = await self._manifest(place)
                assert manifest is not None
                return Found(manifest, replace(place, digest=manifest.digest))
            except MusterError as error:
                failures.append((place, error))
        raise nowhere(reference, failures)

    async def _manifest(self, reference: Reference, *, optional: bool = False) -> Manifest | None:
        access = self._access(reference, _PULL)
        target = f"{reference.repository}/manifests/{reference.wanted}"
        async with self._session.ask(access, Ask("GET", target, {"Accept": _ACCEPT})) as reply:
            if optional and reply.status == 404:
                return None
            if reply.status != 200:
                raise await refused(reply, str(reference))
            data = await reply.read(LARGEST_MANIFEST)
            headers = reply.headers
        told = headers.get("docker-content-digest", "")
        _check(reference, data, reference.digest or (Digest(told) if is_digest(told) else None))
        return parse_manifest(data, str(reference), headers.get("content-type", ""))

    async def _has_blob(self, access: Access, blob: Descriptor) -> bool:
        async with self._session.ask(
            access, Ask("HEAD", f"{access.repository}/blobs/{blob.digest}")
        ) as reply:
            if reply.status not in (200, 404):
                raise await refused(reply, f"the blob {blob.digest} of {access.name}")
            length = reply.headers.get("content-length", "")
            # Some tell nothing of a body that they do not send.
            return reply.status == 200 and length in ("", "0", str(blob.size_bytes))

    async def _tags_page(self, access: Access, target: str) -> tuple[list[str], str]:
        async with self._session.ask(access, Ask("GET", target)) as reply:
            if reply.status != 200:
                raise await refused(reply, f"the list of tags of {access.name}")
            tags = _parse_tags(await reply.read(_LARGEST_LIST), access)
            return tags, next_page(reply.headers.get("link", ""), access, target)


@asynccontextmanager
async def open_client(
    settings: Settings | None = None, *, now: Callable[[], float] = time.monotonic
) -> AsyncIterator[Client]:
    """A client, until the context ends."""
    settings = settings or Settings()
    async with open_transport(settings.authorities, settings.proxy, settings.limits) as transport:
        yield Client(Session(transport, settings.logins, now), settings)


def next_page(link: str, access: Access, target: str) -> str:
    """What is asked next for a list, by the Link header of its last page; empty at the end of it."""
    match = _NEXT.search(link)
    if match is None:
        return ""
    # Whatever host it names: the rest of the list is where its beginning was.
    parts = urlsplit(urljoin(f"https://{access.registry}/v2/{target}", match[1]))
    path = parts.path.removeprefix("/v2/")
    return f"{path}?{parts.query}" if path.startswith(f"{access.repository}/tags/") else ""


def _parse_tags(data: bytes, access: Access) -> list[str]:
    try:
        tags: Any = json.loads(data)["tags"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise UserError(
            f"the list of tags of {access.name} cannot be read", hint="check that this is a registry"
        ) from error
    return [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []


def _check(reference: Reference, data: bytes, digest: Digest | None) -> None:
    found = digest_of(data)
    if digest is not None and found != digest:
        raise Damaged(
            f"the manifest of {reference} has the digest {found}, not {digest}",
            hint="it was changed on the way, or the registry is broken; ask another one",
        )
