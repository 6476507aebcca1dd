# SPDX-License-Identifier: Apache-2.0
"""A registry that misbehaves as it is told, and remembers what it is asked and how much it served."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import re
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from muster.release.oci.digest import Digest, digest_of
from muster.release.oci.manifest import (
    OCI_CONFIG,
    OCI_LAYER,
    Descriptor,
    Manifest,
    Platform,
    render_index,
    render_manifest,
)
from muster.release.oci.reference import Reference

PIECE = 16 << 10
LOGIN = "joe:hunter2"
REFRESH = "a token that lasts"
BASIC = "Basic " + base64.b64encode(LOGIN.encode()).decode()


@dataclass
class Asked:
    """A request that came."""

    method: str
    path: str
    headers: Mapping[str, str]


@dataclass
class Faults:
    """What goes wrong."""

    statuses: list[int] = field(default_factory=list)
    """Answers instead of the right one, one per request."""
    only: str = ""
    """Which requests those are for: a part of the path; empty for all."""
    retry_after: str = ""
    cuts: dict[str, list[int]] = field(default_factory=dict)
    """After how many bytes a blob's connection is cut, one per request."""
    stalls: dict[str, list[int]] = field(default_factory=dict)
    """After how many bytes of a blob nothing comes any more, one per request."""
    instead: dict[str, bytes] = field(default_factory=dict)
    """Other content than that which a digest stands for."""
    endless: set[str] = field(default_factory=set)
    ranges: bool = True
    content_range: str = ""
    """Sent instead of the right one."""
    announces_length: bool = True
    elsewhere: str = ""
    """The URL of a server that has the blobs."""
    announced_digest: str = ""
    login: str = ""
    """Who may come in: ``basic`` or ``bearer``; empty for everybody."""
    token_life: int = 300
    token_key: str = "token"
    realm: str = ""
    refuses_mounts: bool = False
    location: str = ""
    """Where uploads are to go, instead of here."""


class RoughRegistry:
    """Serves on a free port until its context ends. See `start_registry`."""

    def __init__(self) -> None:
        self.faults = Faults()
        self.blobs: dict[str, bytes] = {}
        self.owners: set[tuple[str, str]] = set()
        """Which repository has which blob, as far as somebody asks before pushing."""
        self.manifests: dict[tuple[str, str], tuple[str, bytes]] = {}
        self.asked: list[Asked] = []
        self.served: Counter[str] = Counter()
        self.pushed: Counter[str] = Counter()
        self.tokens: list[str] = []
        self.page = 1000
        self.host = ""
        self.scheme = "http"
        self.alarm_at = 0
        self.alarm = asyncio.Event()
        """Set when so many bytes of blobs were served."""
        self._uploads = 0

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.host}"

    def reference(self, repository: str, tag: str = "", digest: Digest | None = None) -> Reference:
        return Reference(self.host, repository, tag, digest)

    def paths(self, method: str = "GET") -> list[str]:
        return [asked.path for asked in self.asked if asked.method == method]

    def forget(self) -> None:
        """What happened until now does not count."""
        self.asked.clear()
        self.served.clear()
        self.pushed.clear()

    def lose(self) -> None:
        """Nothing is here any more."""
        self.blobs.clear()
        self.owners.clear()
        self.manifests.clear()

    def add_blob(self, data: bytes, media_type: str = OCI_LAYER) -> Descriptor:
        digest = digest_of(data)
        self.blobs[digest] = data
        return Descriptor(media_type, digest, len(data))

    def add_image(self, repository: str, tag: str, layers: list[bytes], architecture: str = "") -> Manifest:
        config = json.dumps({"architecture": architecture or "amd64", "os": "linux"}).encode()
        parts = [self.add_blob(layer) for layer in layers]
        return self.add_manifest(
            repository, tag, render_manifest(self.add_blob(config, OCI_CONFIG), parts, {"of": architecture})
        )

    def add_index(self, repository: str, tag: str, images: Mapping[str, Manifest]) -> Manifest:
        entries = []
        for architecture, image in images.items():
            one = image.descriptor
            entries.append(Descriptor(one.media_type, one.digest, one.size_bytes, Platform(architecture)))
        return self.add_manifest(repository, tag, render_index(entries))

    def add_manifest(self, repository: str, tag: str, manifest: Manifest) -> Manifest:
        self.owners |= {(repository, blob.digest) for blob in manifest.blobs}
        for wanted in (tag, manifest.digest):
            if wanted:
                self.manifests[repository, wanted] = (manifest.media_type, manifest.data)
        return manifest

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        headers = {name.lower(): text for name, text in request.headers.items()}
        self.asked.append(Asked(request.method, request.path_qs, headers))
        if request.path == "/token":
            return await self._token(request)
        if self.faults.statuses and self.faults.only in request.path_qs and request.path != "/v2/":
            return self._failing(self.faults.statuses.pop(0))
        if request.path.startswith("/elsewhere/"):
            return await self._blob(request, request.path.rpartition("/")[2])
        refusal = self._refusal(request)
        return refusal or await self._route(request)

    async def _route(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path.removeprefix("/v2/")
        if match := re.fullmatch(r"(.+)/manifests/([^/]+)", path):
            put = request.method == "PUT"
            return (
                await self._put_manifest(request, *match.groups()) if put else self._manifest(*match.groups())
            )
        if match := re.fullmatch(r"(.+)/blobs/(sha256:[0-9a-f]{64})", path):
            if request.method == "HEAD":
                return web.Response(status=200 if match.groups() in self.owners else 404)
            return await self._blob(request, match[2])
        if match := re.fullmatch(r"(.+)/blobs/uploads/(\d*)", path):
            return await self._upload(request, match[1])
        if match := re.fullmatch(r"(.+)/tags/list", path):
            return self._tags(request, match[1])
        return web.json_response({}, status=404 if path else 200)

    def _failing(self, status: int) -> web.Response:
        headers = {"Retry-After": self.faults.retry_after} if self.faults.retry_after else {}
        body = {"errors": [{"code": "TROUBLE", "message": f"there is trouble, password: {LOGIN}"}]}
        return web.json_response(body, status=status, headers=headers)

    def _refusal(self, request: web.BaseRequest) -> web.Response | None:
        sent = request.headers.get("Authorization", "")
        if self.faults.login == "basic" and sent != BASIC:
            return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="rough"'})
        if self.faults.login == "bearer" and sent.removeprefix("Bearer ") not in self.tokens:
            realm = self.faults.realm or f"{self.url}/token"
            return web.Response(
                status=401, headers={"WWW-Authenticate": f'Bearer realm="{realm}",service="rough, one"'}
            )
        return None

    async def _token(self, request: web.BaseRequest) -> web.Response:
        form = dict(await request.post())
        refreshed = form.get("refresh_token") == REFRESH and form.get("grant_type") == "refresh_token"
        if request.headers.get("Authorization") != BASIC and not refreshed:
            return web.json_response({"errors": [{"code": "UNAUTHORIZED"}]}, status=401)
        self.tokens.append(f"token-{len(self.tokens)}")
        return web.json_response(
            {self.faults.token_key: self.tokens[-1], "expires_in": self.faults.token_life}
        )

    def _manifest(self, repository: str, wanted: str) -> web.Response:
        found = self.manifests.get((repository, wanted))
        if found is None:
            body = {"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}
            return web.json_response(body, status=404)
        media_type, data = found
        data = self.faults.instead.get(wanted, data)
        digest = self.faults.announced_digest or digest_of(data)
        return web.Response(body=data, headers={"Content-Type": media_type, "Docker-Content-Digest": digest})

    async def _blob(self, request: web.BaseRequest, digest: str) -> web.StreamResponse:
        faults = self.faults
        if faults.elsewhere and not request.path.startswith("/elsewhere/"):
            return web.Response(
                status=307, headers={"Location": f"{faults.elsewhere}/elsewhere/{digest}?a=b%2Fc"}
            )
        if digest not in self.blobs:
            return web.Response(status=404)
        body = faults.instead.get(digest, self.blobs[digest])
        match = re.fullmatch(r"bytes=(\d+)-", request.headers.get("Range", ""))
        start = int(match[1]) if match and faults.ranges else 0
        response = web.StreamResponse(status=206 if start else 200)
        if start:
            told = faults.content_range or f"bytes {start}-{len(body) - 1}/{len(body)}"
            response.headers["Content-Range"] = told
        if faults.announces_length and digest not in faults.endless:
            response.content_length = len(body) - start
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):
            await self._send(request, response, digest, body[start:])
        return response

    async def _send(
        self, request: web.BaseRequest, response: web.StreamResponse, digest: str, body: bytes
    ) -> None:
        cuts, stalls = self.faults.cuts.get(digest), self.faults.stalls.get(digest)
        cut = cuts.pop(0) if cuts else None
        stall = stalls.pop(0) if stalls else None
        limits = [limit for limit in (cut, stall, len(body)) if limit is not None]
        for at in range(0, min(limits), PIECE):
            piece = body[at : min(at + PIECE, *limits, len(body))]
            await response.write(piece)
            self.served[digest] += len(piece)
            if self.served.total() >= self.alarm_at:
                self.alarm.set()
        while digest in self.faults.endless:
            await response.write(bytes(PIECE))
            self.served[digest] += PIECE
        if stall is not None:
            await asyncio.sleep(3600)
        if cut is not None and cut < len(body):
            assert request.transport is not None
            request.transport.abort()

    async def _upload(self, request: web.BaseRequest, repository: str) -> web.Response:
        mount, origin = request.query.get("mount", ""), request.query.get("from", "")
        if (origin, mount) in self.owners and not self.faults.refuses_mounts:
            self.owners.add((repository, mount))
            return web.Response(status=201)
        if request.method == "POST":
            self._uploads += 1
            place = self.faults.location or f"/v2/{repository}/blobs/uploads/"
            return web.Response(status=202, headers={"Location": f"{place}{self._uploads}?state=a"})
        data = b"".join([chunk async for chunk in request.content.iter_any()])
        digest = request.query["digest"]
        self.pushed[digest] += len(data)
        if digest_of(data) != digest:
            return web.json_response({"errors": [{"code": "DIGEST_INVALID"}]}, status=400)
        self.blobs[digest] = data
        self.owners.add((repository, digest))
        return web.Response(status=201)

    async def _put_manifest(self, request: web.BaseRequest, repository: str, wanted: str) -> web.Response:
        data = await request.read()
        media_type = request.headers["Content-Type"]
        for each in (wanted, digest_of(data)):
            self.manifests[repository, each] = (media_type, data)
        digest = self.faults.announced_digest or digest_of(data)
        return web.Response(status=201, headers={"Docker-Content-Digest": digest})

    def _tags(self, request: web.BaseRequest, repository: str) -> web.Response:
        tags = sorted(tag for name, tag in self.manifests if name == repository and ":" not in tag)
        last = request.query.get("last", "")
        left = [tag for tag in tags if tag > last]
        page = left[: self.page]
        headers = {}
        if len(left) > len(page):
            following = f"/v2/{repository}/tags/list?n={self.page}&last={page[-1]}"
            headers["Link"] = f'<{following}>; rel="next"'
        return web.json_response({"name": repository, "tags": page}, headers=headers)


@asynccontextmanager
async def start_registry(
    context: ssl.SSLContext | None = None, address: str = "127.0.0.1"
) -> AsyncIterator[RoughRegistry]:
    """Serve on a free port of this machine until the context ends."""
    registry = RoughRegistry()
    server = web.Server(registry.answer, handler_cancellation=True)
    runner = web.ServerRunner(server, shutdown_timeout=0.01)
    await runner.setup()
    site = web.TCPSite(runner, address, 0, ssl_context=context)
    await site.start()
    port = runner.addresses[0][1]
    registry.host = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    registry.scheme = "https" if context else "http"
    try:
        yield registry
    finally:
        await runner.cleanup()
