# SPDX-License-Identifier: Apache-2.0
"""A site whose service and Kubernetes API are on this machine, and one who waits for it."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from aiohttp import web

from muster.certificates.issue import SERVER, Term, Wish, common_name, issue, render_certificate
from muster.certificates.keys import P256, make_key, render_key
from muster.certificates.kubeconfig import Access
from muster.cli.teller import Teller
from muster.cli.wait_for import Sought
from muster.client.kubeconfig import parse_access
from muster.client.presence import Aim, Goal
from muster.client.target import Caller, Target
from muster.client.telling import Line
from muster.image.kubeconfig import render_kubeconfig
from muster.image.pki import build_pki, build_service_authority, build_service_certificate
from muster.image.secrets import KeyName, SiteSecrets, make_secrets
from muster.image.tokens import build_tokens
from muster.service.edge.given import Given
from muster.serving.listen import open_socket, parse_endpoint

API_NAME = "api.alpha.example.com"
HERE = "127.0.0.1"


@dataclass
class Papers:
    """What the medium of a site has for its service."""

    secrets: SiteSecrets
    certificate: Path
    key: Path
    token_key: Path

    @property
    def settings(self) -> dict[str, Any]:
        """Of a service in this process."""
        keys = (self.token_key.read_text(),)
        return {"certificate": Given(self.certificate, self.key), "token_keys": keys}

    @property
    def options(self) -> tuple[str, ...]:
        """The same of a service in a process of its own."""
        files = {"--certificate": self.certificate, "--key": self.key, "--token-key": self.token_key}
        return tuple(str(each) for pair in files.items() for each in pair)


def make_papers(folder: Path, secrets: SiteSecrets | None = None) -> Papers:
    """The papers of a site, which may have secrets already."""
    made = secrets or make_secrets(os.urandom, datetime.now(UTC) - timedelta(minutes=1))
    folder.mkdir(exist_ok=True)
    found = Papers(made, folder / "service.crt", folder / "service.key", folder / "tokens.pem")
    chain = render_certificate(build_service_certificate(made, [HERE])) + build_service_authority(made).pem
    found.certificate.write_text(chain)
    found.key.write_text(made.keys[KeyName.SERVICE])
    found.key.chmod(0o600)
    found.token_key.write_text(build_tokens(made).public_key)
    return found


def make_access(secrets: SiteSecrets, server: str) -> Access:
    """What auth/kubeconfig says, but for the place of the API."""
    pki = build_pki(secrets)
    text = render_kubeconfig(pki, secrets, "alpha", "example.com", pki.api_bundle)
    return replace(parse_access(text.encode()), server=server)


def seek(
    secrets: SiteSecrets,
    url: str,
    api: str,
    goal: Goal = Goal.INSTALL,
    patience_s: float = 600,
    **values: Any,
) -> Sought:
    """What one knows who has the site's directory."""
    aim = Aim(
        goal=goal,
        patience_s=patience_s,
        name="alpha.example.com",
        url=url,
        address=HERE,
        hosts_line=f"{HERE} {API_NAME}",
        **{"nodes": ("a", "b", "c"), "count": 3, **values},
    )
    return Sought(
        aim=aim,
        target=Target(url, Caller.WATCHER, build_tokens(secrets).watcher),
        authority=build_service_authority(secrets).pem,
        secrets=secrets,
        access=make_access(secrets, api),
        known=(ip_address(HERE),),
    )


class Listener(Teller):
    """One who is told the story, and remembers it."""

    def __init__(self) -> None:
        super().__init__(None, as_json=False)
        self.lines: list[Line] = []
        self._came = asyncio.Event()

    def tell(self, line: Line) -> None:
        self.lines.append(line)
        self._came.set()

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)

    async def heard(self, words: str) -> None:
        """Wait until something is told; what never comes ends by the patience of the test."""
        while words not in self.text:
            self._came.clear()
            await self._came.wait()


@dataclass
class FakeApi:
    """A Kubernetes API that says what a test wants."""

    url: str
    port: int
    is_ready: bool = True
    knows_us: bool = True
    nodes: dict[str, bool] = field(default_factory=dict)
    config_maps: set[str] = field(default_factory=set)
    """Of the namespace kube-system."""
    versions: dict[str, bool] = field(default_factory=dict)
    """Whether OpenShift is available, by the name of what watches over it."""
    callers: set[str] = field(default_factory=set)
    """The common names of those who called."""

    async def readyz(self, request: web.Request) -> web.Response:
        peer = request.transport.get_extra_info("peercert") if request.transport else None
        names = dict(part[0] for part in (peer or {}).get("subject", ()))
        self.callers.add(names.get("commonName", ""))
        if not self.knows_us:
            return web.json_response({"kind": "Status", "reason": "Unauthorized"}, status=401)
        if self.is_ready:
            return web.Response(text="ok")
        return web.Response(
            status=500, text="[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed"
        )

    async def show_config_map(self, request: web.Request) -> web.Response:
        if (name := request.match_info["name"]) not in self.config_maps:
            return web.json_response({"kind": "Status", "reason": "NotFound"}, status=404)
        return web.json_response({"kind": "ConfigMap", "metadata": {"name": name}})

    async def show_version(self, request: web.Request) -> web.Response:
        if (name := request.match_info["name"]) not in self.versions:
            return web.json_response({"kind": "Status", "reason": "NotFound"}, status=404)
        conditions = [{"type": "Available", "status": str(self.versions[name])}]
        return web.json_response({"metadata": {"name": name}, "status": {"conditions": conditions}})

    async def list_nodes(self, _request: web.Request) -> web.Response:
        items = [
            {
                "metadata": {"name": name},
                "status": {"conditions": [{"type": "Ready", "status": str(is_ready)}]},
            }
            for name, is_ready in self.nodes.items()
        ]
        return web.json_response({"kind": "NodeList", "items": items})


def _make_context(path: Path, secrets: SiteSecrets, names: tuple[str, ...]) -> ssl.SSLContext:
    """A certificate of the cluster's authority; callers need one of the administrators'."""
    pki, key = build_pki(secrets), make_key(P256, os.urandom)
    term = Term("api", datetime.now(UTC) - timedelta(minutes=1), timedelta(days=1))
    made = issue(pki.load_balancer, Wish(common_name("kube-apiserver"), key, (SERVER,), names), term)
    path.write_text(render_certificate(made) + render_key(key))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    context.load_verify_locations(cadata=pki.admin.pem)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


@asynccontextmanager
async def serve_api(
    folder: Path, secrets: SiteSecrets, names: tuple[str, ...] = (HERE, API_NAME), place: str = f"{HERE}:0"
) -> AsyncIterator[FakeApi]:
    """Such an API, until the body ends."""
    context = _make_context(folder / "api.pem", secrets, names)
    app = web.Application()
    runner = web.AppRunner(app)
    with open_socket(parse_endpoint(place)) as listening:
        port = listening.getsockname()[1]
        fake = FakeApi(f"https://{HERE}:{port}", port)
        app.router.add_get("/readyz", fake.readyz)
        app.router.add_get("/api/v1/nodes", fake.list_nodes)
        app.router.add_get("/api/v1/namespaces/kube-system/configmaps/{name}", fake.show_config_map)
        app.router.add_get("/apis/config.openshift.io/v1/clusterversions/{name}", fake.show_version)
        await runner.setup()
        try:
            await web.SockSite(runner, listening, ssl_context=context).start()
            yield fake
        finally:
            await runner.cleanup()


def of_kind(lines: list[Line], kind: str, is_so: Callable[[Line], bool] = lambda _line: True) -> list[str]:
    """The texts of one kind."""
    return [line.text for line in lines if line.kind == kind and is_so(line)]
