# SPDX-License-Identifier: Apache-2.0
"""A whole day of one who uses `aicli`: from a service that knows nothing to a cluster that is installed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from muster.lab.sim.stand_ins import INGRESS
from tests.component.service.aicli import settle_in
from tests.component.service.processes import Served, insist, person, until, watched_hosts
from tests.component.service.whole import machines

Tell = Callable[[str], None]


async def spend_a_day(
    folder: Path, service: Served, count: int, tell: Tell = lambda _: None
) -> dict[str, Any]:
    """With so many hosts; the cluster as it is at the end. Tells when a part is over."""
    async with person(folder, service) as someone:
        aicli = settle_in(someone, folder / "home")
        given = [f"openshift_version={someone.version}", "base_dns_domain=example.com"]
        given += ["api_vip=192.0.2.251", "ingress_vip=192.0.2.252"]
        words = [word for each in given for word in ("-P", each)]
        await aicli("create", "cluster", *words, "alpha")
        (cluster,) = await aicli.clusters()
        path, infra_env = (
            f"/clusters/{cluster['id']}",
            (await someone.ask("GET", "/infra-envs")).json[0]["id"],
        )
        async with watched_hosts(someone, infra_env, machines(count)):
            await aicli("wait", "cluster", "-s", "ready", "alpha")
            tell("all hosts known")
            await aicli("start", "cluster", "alpha")
            waiting = asyncio.ensure_future(aicli("wait", "cluster", "alpha"))
            await until(someone, cluster["id"], "finalizing")
            tell("all hosts installed")
            agent = await someone.controller_token(cluster["id"])
            report = {"name": "console", "status": "available", "status_info": "up"}
            for request in (
                ("PUT", f"{path}/monitored-operators", report),
                ("POST", f"{path}/uploads/ingress-cert", INGRESS),
            ):
                await insist(someone, cluster["id"], "", request, X_Secret_Key=agent)
            assert "to reach state installed" in await waiting
            tell("installed")
        return await someone.cluster(cluster["id"])
