# SPDX-License-Identifier: Apache-2.0
"""Blobs and manifests go to a registry: what it has is not sent, what another repository has is mounted."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from enum import StrEnum
from typing import Final, TypeAlias
from urllib.parse import urljoin, urlsplit

from muster.frozen import dataclass
from muster.release.oci.auth import Access
from muster.release.oci.manifest import Descriptor, Manifest
from muster.release.oci.session import Ask, Session, refused
from muster.release.oci.trouble import Unreachable

Content: TypeAlias = Callable[[], AsyncGenerator[bytes, None]]
"""Opens a blob at its beginning, once for each try to send it."""

_BYTES: Final = "application/octet-stream"


class Pushed(StrEnum):
    """How a blob came to be at a registry."""

    THERE = "there"
    MOUNTED = "mounted"
    SENT = "sent"


@dataclass(frozen=True)
class Sending:
    """A blob that is to be at a registry."""

    access: Access
    blob: Descriptor
    content: Content
    mount: str = ""
    """Another repository of the registry that has it; empty when none is known."""

    @property
    def shown(self) -> str:
        return f"the blob {self.blob.digest} for {self.access.name}"


async def send_blob(session: Session, sending: Sending) -> Pushed:
    """Bring a blob to a registry, in one try."""
    try:
        return await _send_blob(session, sending)
    except Unreachable as error:
        named = error.about(sending.shown, sending.blob.digest)
        raise named from (None if named is error else error)


async def _send_blob(session: Session, sending: Sending) -> Pushed:
    if await _is_there(session, sending):
        return Pushed.THERE
    location = await _mount(session, sending) if sending.mount else None
    if location == "":
        return Pushed.MOUNTED
    location = location or await _begin(session, sending)
    address = await session.address(sending.access)
    target = upload_target(address, location, sending)
    headers = {"Content-Type": _BYTES, "Content-Length": str(sending.blob.size_bytes)}
    async with session.ask(sending.access, Ask("PUT", target, headers, sending.content)) as reply:
        if reply.status not in (201, 204):
            raise await refused(reply, sending.shown)
    return Pushed.SENT


async def send_manifest(session: Session, access: Access, manifest: Manifest, wanted: str) -> None:
    """Let a tag or digest stand for a manifest, whose blobs are there already; one try."""
    shown = f"the manifest {wanted} for {access.name}"
    ask = Ask(
        "PUT",
        f"{access.repository}/manifests/{wanted}",
        {"Content-Type": manifest.media_type},
        manifest.data,
    )
    async with session.ask(access, ask) as reply:
        if reply.status not in (200, 201, 202):
            raise await refused(reply, shown)
        told = reply.headers.get("docker-content-digest", manifest.digest)
    if told != manifest.digest:
        raise Unreachable(
            f"{shown}: the registry took it for {told[:80]!r}, not for {manifest.digest}",
            hint="the registry changes manifests, so that digests do not hold; push to another one",
            passing=False,
        )


async def _is_there(session: Session, sending: Sending) -> bool:
    target = f"{sending.access.repository}/blobs/{sending.blob.digest}"
    async with session.ask(sending.access, Ask("HEAD", target)) as reply:
        if reply.status not in (200, 404):
            raise await refused(reply, sending.shown)
        return reply.status == 200


async def _mount(session: Session, sending: Sending) -> str | None:
    """Take the blob over; empty when that is done, else where to send it; None when we may not even ask."""
    access = replace(sending.access, also=(sending.mount,))
    query = f"?mount={sending.blob.digest}&from={sending.mount}"
    try:
        async with session.ask(access, Ask("POST", f"{access.repository}/blobs/uploads/{query}")) as reply:
            if reply.status == 201:
                return ""
            return reply.headers.get("location") if reply.status == 202 else None
    except Unreachable as error:
        if error.passing:
            raise
        return None


async def _begin(session: Session, sending: Sending) -> str:
    access = sending.access
    async with session.ask(access, Ask("POST", f"{access.repository}/blobs/uploads/")) as reply:
        location = reply.headers.get("location", "")
        if reply.status != 202 or not location:
            raise await refused(reply, sending.shown)
        return location


def upload_target(address: str, location: str, sending: Sending) -> str:
    """Where a blob is sent to, as a registry named it: often a path, or a URL with the wrong scheme."""
    own = urlsplit(address)
    try:
        there = urlsplit(urljoin(address, location))
    except ValueError:
        there = urlsplit("")
    if there.netloc == own.netloc:
        # A registry behind a proxy that speaks TLS for it often does not know that.
        there = there._replace(scheme=own.scheme)
    plain = there.scheme == "http" and own.scheme == "https" and not sending.access.insecure
    if there.scheme not in ("http", "https") or not there.netloc or plain:
        raise Unreachable(
            f"{sending.shown}: the registry wants it where it cannot be sent to",
            hint="check the registry's own URL in its configuration",
            passing=False,
        )
    query = f"{there.query}&" if there.query else ""
    return there._replace(query=f"{query}digest={sending.blob.digest}", fragment="").geturl()
