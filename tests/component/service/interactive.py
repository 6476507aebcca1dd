# SPDX-License-Identifier: Apache-2.0
"""A service for one cluster that people make, with one who is logged in, and hosts that meet there."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import aiohttp

from muster.lab.sim.machines import Machine
from muster.lab.sim.over_http import Target, make_context
from muster.model.meeting import Meeting
from muster.service.hosting import Running
from muster.service.interactive.medium import GenericMedium
from muster.service.interactive.serving import agent_token, serve_interactive
from muster.service.rendezvous.serving import Here
from muster.serving.listen import open_socket, parse_endpoint
from tests.component.service.whole import Person, come, machines, small_release

CLUSTER = "11111111-1111-4111-8111-111111111111"
INFRA_ENV = "22222222-2222-4222-8222-222222222222"
NEW = {
    "name": "alpha",
    "base_dns_domain": "example.com",
    "pull_secret": "",
    "api_vips": [{"ip": "192.0.2.200"}],
    "ingress_vips": [{"ip": "192.0.2.201"}],
}


@dataclass
class Site(Person):
    """One who is logged in at a service for one cluster."""

    running: Running

    @property
    def medium(self) -> str:
        return agent_token(self.running, meeting())

    async def make(self, **values: Any) -> dict[str, Any]:
        got = await self.ask("POST", "/clusters", {**NEW, "openshift_version": self.version, **values})
        assert got.status == 201, got.body
        found: dict[str, Any] = got.json
        return found

    async def steps(self) -> dict[str, Any]:
        got = await self.ask("GET", f"/clusters/{CLUSTER}/steps")
        assert got.status == 200, got.body
        return {each["id"]: each for each in got.json}

    async def pool(self) -> list[dict[str, Any]]:
        got = await self.ask("GET", f"/infra-envs/{INFRA_ENV}/hosts")
        return got.json if got.status == 200 else []


def rendezvous_ip() -> str:
    """The address of the first of the modelled hosts."""
    cards = machines(1)[0].inventory.interfaces or ()
    return next(each.split("/")[0] for card in cards for each in card.ipv4_addresses or ())


def meeting() -> Meeting:
    return Meeting(ip_address(rendezvous_ip()), CLUSTER, INFRA_ENV)


@asynccontextmanager
async def person_at(running: Running, url: str, version: str) -> AsyncIterator[Site]:
    connector = aiohttp.TCPConnector(ssl=make_context(Target(url="", infra_env_id="", insecure=True)))
    async with aiohttp.ClientSession(connector=connector) as session:
        token = running.login.make_session(time.time()).token
        yield Site(url, running.tokens, session, token, version, running)


@asynccontextmanager
async def open_site(folder: Path, **medium: Any) -> AsyncIterator[Site]:
    """A service in a folder, or the one that was there before, with a release on its medium."""
    parts = folder / "parts"
    parts.mkdir(exist_ok=True)
    if not (parts / "store").exists():
        (parts / "version").write_text(small_release(parts, "metrics-server", "traefik").version)
    given = GenericMedium(
        **{"meeting": meeting(), "store": parts / "store", "pull_secret": '{"auths":{}}', **medium}
    )
    with open_socket(parse_endpoint("127.0.0.1:0")) as listening:
        url = f"https://127.0.0.1:{listening.getsockname()[1]}"
        async with (
            serve_interactive(given, folder / "data", listening, Here("default")) as running,
            person_at(running, url, (parts / "version").read_text()) as site,
        ):

            async def is_there() -> bool:
                return (await site.ask("GET", f"/infra-envs/{INFRA_ENV}")).status == 200

            await come(is_there)
            yield site


async def joined(site: Site, hosts: list[Machine]) -> None:
    """Wait until all hosts are in the cluster and told what they are made of."""
    await site.until(
        CLUSTER,
        lambda each: (
            len(each["hosts"]) == len(hosts) and all(host["status"] == "known" for host in each["hosts"])
        ),
    )


async def install(site: Site, hosts: list[Machine]) -> dict[str, Any]:
    """Take what is to be kept, and install; the cluster when its hosts are done."""
    await joined(site, hosts)
    assert (await site.ask("GET", f"/clusters/{CLUSTER}/downloads/everything")).status == 200
    begun = await site.ask("POST", f"/clusters/{CLUSTER}/actions/install")
    assert begun.status == 202, begun.body
    end = await site.until(CLUSTER, lambda each: each["status"] in ("finalizing", "error"))
    assert end["status"] == "finalizing", end["status_info"]
    return end


async def tell(site: Site, name: str, status: str = "available") -> None:
    body = {"name": name, "status": status, "status_info": "all of it is set up"}
    own = await site.controller_token(CLUSTER)
    got = await site.ask("PUT", f"/clusters/{CLUSTER}/monitored-operators", body, X_Secret_Key=own)
    assert got.status == 200, got.body
