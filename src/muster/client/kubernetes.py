# SPDX-License-Identifier: Apache-2.0
"""The Kubernetes API of a cluster, as far as one looks at it who waits for it: ready or not, and its nodes.

async with open_kubernetes(load_access(path), known) as kubernetes:
    sight = await kubernetes.look()
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Final

import aiohttp
import msgspec
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from muster.certificates.kubeconfig import Access
from muster.client.kubeconfig import make_client_context
from muster.client.snapshot import KubernetesSight, Node, Trouble
from muster.client.words import find_trouble, words_of
from muster.model.setting_up import MARK
from muster.model.values import IP

_PATIENCE_S: Final = 10.0
_CONNECT_S: Final = 4.0
_RESOLVE_S: Final = 3.0
_ASK_AGAIN_S: Final = 60.0
"""A name that is not known now is hardly known a moment later, and the question may take long."""
_SHOWN: Final = 3
_MARK: Final = f"/api/v1/namespaces/kube-system/configmaps/{MARK}"
_CLUSTER_VERSION: Final = "/apis/config.openshift.io/v1/clusterversions/version"


class KnownAddresses(AbstractResolver):
    """Names as the system knows them; one that it does not know is looked for at addresses of the plan."""

    def __init__(self, known: Sequence[IP], system: AbstractResolver | None = None) -> None:
        self.is_resolved = True
        self._known = known
        self._system = system or aiohttp.ThreadedResolver()
        self._ask_at = 0.0

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Where to find a host."""
        now = asyncio.get_running_loop().time()
        if self.is_resolved or now >= self._ask_at:
            try:
                async with asyncio.timeout(_RESOLVE_S):
                    found = await self._system.resolve(host, port, family)
            except OSError:
                self.is_resolved, self._ask_at = False, now + _ASK_AGAIN_S
                if not self._known:
                    raise
            else:
                self.is_resolved = True
                return found
        return [_result(host, port, address) for address in self._known]

    async def close(self) -> None:
        """Nothing is open."""


def _result(host: str, port: int, address: IP) -> ResolveResult:
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    return ResolveResult(
        hostname=host, host=str(address), port=port, family=family, proto=0, flags=socket.AI_NUMERICHOST
    )


class _Condition(msgspec.Struct):
    type: str
    status: str


class _Status(msgspec.Struct):
    conditions: tuple[_Condition, ...] = ()


class _Meta(msgspec.Struct):
    name: str


class _Object(msgspec.Struct):
    metadata: _Meta
    status: _Status = msgspec.field(default_factory=_Status)

    def is_so(self, condition: str) -> bool:
        return any(each.type == condition and each.status == "True" for each in self.status.conditions)


class _Objects(msgspec.Struct):
    items: tuple[_Object, ...] = ()


def parse_nodes(body: bytes) -> tuple[Node, ...]:
    """Nodes, as the API lists them."""
    found = msgspec.json.decode(body, type=_Objects)
    return tuple(Node(each.metadata.name, each.is_so("Ready")) for each in found.items)


class Kubernetes:
    """A way to the API of one cluster."""

    def __init__(self, session: aiohttp.ClientSession, server: str, names: KnownAddresses) -> None:
        self._session, self._server, self._names = session, server, names

    async def look(self, node: str = "") -> KubernetesSight:
        """Whether it is ready, and its nodes; never an error, as it is away more often than not.

        A node may only ask for the one that it is itself.
        """
        try:
            seen = await self._look(f"?fieldSelector=metadata.name%3D{node}" if node else "")
        except (aiohttp.ClientError, OSError) as error:
            seen = KubernetesSight(trouble=find_trouble(error), words=words_of(error))
        except msgspec.DecodeError as error:
            seen = KubernetesSight(trouble=Trouble.STRANGE, words=f"its answer cannot be read: {error}")
        return replace(seen, is_resolved=self._names.is_resolved)

    async def _look(self, which: str) -> KubernetesSight:
        status, body = await self._get("/readyz")
        if status in (401, 403):
            words = "it does not accept the certificate of auth/kubeconfig"
            return KubernetesSight(trouble=Trouble.REFUSED, words=words)
        if status != 200:
            return KubernetesSight(words=_unready(status, body))
        status, body = await self._get(f"/api/v1/nodes{which}")
        nodes = parse_nodes(body) if status == 200 else None
        are_ready = bool(nodes) and all(node.is_ready for node in nodes or ())
        is_set_up = are_ready and not which and await self._is_set_up()
        return KubernetesSight(is_ready=True, nodes=nodes, is_set_up=is_set_up)

    async def _is_set_up(self) -> bool:
        """Upstream Kubernetes has a mark of its installation, OpenShift something that watches over it."""
        status, _ = await self._get(_MARK)
        if status != 404:
            return status == 200
        status, body = await self._get(_CLUSTER_VERSION)
        return status == 200 and msgspec.json.decode(body, type=_Object).is_so("Available")

    async def _get(self, path: str) -> tuple[int, bytes]:
        async with self._session.get(URL(self._server + path, encoded=True)) as response:
            return response.status, await response.read()


def _unready(status: int, body: bytes) -> str:
    """What it says that it waits for."""
    lines = body.decode("utf-8", "replace").splitlines()
    missing = [line[3:].split(" ")[0] for line in lines if line.startswith("[-]")]
    return f"it waits for {', '.join(missing[:_SHOWN])}" if missing else f"it answers with status {status}"


@contextlib.asynccontextmanager
async def open_kubernetes(
    access: Access, known: Sequence[IP], system: AbstractResolver | None = None, *, keeps: bool = False
) -> AsyncIterator[Kubernetes]:
    """A way to the API; when the system does not know its name, at one of the addresses that are known.

    Who asks the same host all the time ``keeps`` its connections: to prove oneself anew costs both sides more
    than the question. Who asks a cluster does not, as another host may answer next.
    """
    names = KnownAddresses(known, system)
    connector = aiohttp.TCPConnector(
        ssl=make_client_context(access), resolver=names, use_dns_cache=False, force_close=not keeps
    )
    timeout = aiohttp.ClientTimeout(total=_PATIENCE_S, sock_connect=_CONNECT_S)
    async with aiohttp.ClientSession(
        connector=connector, timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()
    ) as session:
        yield Kubernetes(session, access.server, names)
