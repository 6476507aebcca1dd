# SPDX-License-Identifier: Apache-2.0
"""The client of the Kubernetes API against an API with TLS and client certificates."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import aiohttp
import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from muster.certificates.kubeconfig import Access
from muster.client.kubernetes import open_kubernetes
from muster.client.snapshot import KubernetesSight, Node, Trouble
from muster.image.secrets import SiteSecrets, make_secrets
from muster.model.values import IP
from tests.component.client.scene import API_NAME, HERE, make_access, serve_api
from tests.component.service.processes import free_port
from tests.component.service.whole import play

KNOWN = (ip_address(HERE),)


def new_secrets() -> SiteSecrets:
    return make_secrets(os.urandom, datetime.now(UTC) - timedelta(minutes=1))


class Names(AbstractResolver):
    """A DNS that knows one name, or none."""

    def __init__(self, known: str = "") -> None:
        self.known, self.asked = known, 0

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        self.asked += 1
        if host != self.known:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return await aiohttp.ThreadedResolver().resolve(HERE, port, socket.AF_INET)

    async def close(self) -> None:
        pass


async def look(access: Access, names: Names | None = None, known: Sequence[IP] = KNOWN) -> KubernetesSight:
    async with open_kubernetes(access, known, names or Names()) as kubernetes:
        return await kubernetes.look()


def test_ready_with_nodes(tmp_path: Path) -> None:
    async def scene() -> None:
        secrets = new_secrets()
        async with serve_api(tmp_path, secrets) as api:
            api.nodes = {"a": True, "b": False}
            sight = await look(make_access(secrets, api.url))
            assert sight == KubernetesSight(is_ready=True, nodes=(Node("a", True), Node("b", False)))
            assert api.callers == {"system:admin"}

    play(scene, 60)


def test_set_up_is_what_the_cluster_says_of_itself(tmp_path: Path) -> None:
    async def scene() -> None:
        secrets = new_secrets()
        async with serve_api(tmp_path, secrets) as api:
            access = make_access(secrets, api.url)
            api.config_maps, api.nodes = {"muster-cluster-setup"}, {"a": True, "b": False}
            assert not (await look(access)).is_set_up
            api.nodes["b"] = True
            assert (await look(access)).is_set_up
            api.config_maps = {"other"}
            assert not (await look(access)).is_set_up
            api.versions = {"version": False}
            assert not (await look(access)).is_set_up
            api.versions = {"version": True}
            assert (await look(access)).is_set_up

    play(scene, 60)


def test_not_ready_says_what_it_waits_for(tmp_path: Path) -> None:
    async def scene() -> None:
        secrets = new_secrets()
        async with serve_api(tmp_path, secrets) as api:
            api.is_ready = False
            assert await look(make_access(secrets, api.url)) == KubernetesSight(words="it waits for etcd")

    play(scene, 60)


def test_a_name_that_nobody_knows_is_found_at_an_address_of_the_plan(tmp_path: Path) -> None:
    """Also behind an address where nobody is; TLS is for the name, not the address."""

    async def scene() -> None:
        secrets, names = new_secrets(), Names()
        async with serve_api(tmp_path, secrets, (API_NAME,)) as api:
            access = make_access(secrets, f"https://{API_NAME}:{api.port}")
            known = (ip_address("127.0.0.99"), *KNOWN)
            async with open_kubernetes(access, known, names) as kubernetes:
                for _ in range(2):
                    sight = await kubernetes.look()
                    assert (sight.is_ready, sight.is_resolved) == (True, False)
            assert names.asked == 1, "a name that is not known is not asked for all the time"
            sight = await look(access, Names(API_NAME), known=())
            assert (sight.is_ready, sight.is_resolved) == (True, True)
            sight = await look(access, Names(), known=())
            assert (sight.trouble, sight.is_resolved) == (Trouble.SILENT, False)
            assert sight.words == f"the name {API_NAME} is not known"

    play(scene, 60)


@pytest.mark.parametrize(("keeps", "connections"), [(True, 1), (False, 4)])
def test_who_asks_the_same_host_all_the_time_keeps_its_connection(
    tmp_path: Path, keeps: bool, connections: int
) -> None:
    async def scene() -> None:
        secrets, names = new_secrets(), Names(API_NAME)
        async with serve_api(tmp_path, secrets, (API_NAME,)) as api:
            access = make_access(secrets, f"https://{API_NAME}:{api.port}")
            async with open_kubernetes(access, (), names, keeps=keeps) as kubernetes:
                for _ in range(2):
                    assert (await kubernetes.look()).is_ready
            assert names.asked == connections

    play(scene, 60)


def test_an_address_with_another_name_is_not_taken_for_the_api(tmp_path: Path) -> None:
    async def scene() -> None:
        secrets = new_secrets()
        async with serve_api(tmp_path, secrets, ("api.beta.example.com",)) as api:
            sight = await look(make_access(secrets, f"https://{API_NAME}:{api.port}"))
            assert sight.trouble is Trouble.CERTIFICATE
            assert API_NAME in sight.words

    play(scene, 60)


def test_an_api_of_another_cluster(tmp_path: Path) -> None:
    async def scene() -> None:
        secrets, others = new_secrets(), new_secrets()
        async with serve_api(tmp_path, others) as api:
            sight = await look(make_access(secrets, api.url))
            assert sight.trouble is Trouble.CERTIFICATE
            assert "its certificate is not accepted" in sight.words

    play(scene, 60)


def test_a_certificate_that_the_api_does_not_accept(tmp_path: Path) -> None:
    async def scene() -> None:
        secrets = new_secrets()
        async with serve_api(tmp_path, secrets) as api:
            api.knows_us = False
            sight = await look(make_access(secrets, api.url))
            assert sight.trouble is Trouble.REFUSED
            assert sight.words == "it does not accept the certificate of auth/kubeconfig"

    play(scene, 60)


def test_nobody_there() -> None:
    async def scene() -> None:
        sight = await look(make_access(new_secrets(), f"https://{HERE}:{free_port()}"))
        assert (sight.trouble, sight.words) == (Trouble.SILENT, "connection refused")

    play(scene, 60)
