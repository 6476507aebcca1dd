# SPDX-License-Identifier: Apache-2.0
"""From nothing to an installed cluster: a person, modelled hosts and the whole service over TLS."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from muster.lab.sim.stand_ins import INGRESS
from tests.component.service.whole import Whole, machines, open_service, play


async def finish(site: Whole, cluster: dict[str, Any]) -> None:
    """What runs in a cluster that has come up."""
    path, agent = f"/clusters/{cluster['id']}", await site.controller_token(cluster["id"])
    report = {"name": "console", "status": "available", "status_info": "up"}
    got = await site.ask("PUT", f"{path}/monitored-operators", report, X_Secret_Key=agent)
    assert got.status == 200, got.body
    before = await credential(site, path, "kubeconfig-noingress")
    got = await site.ask("POST", f"{path}/uploads/ingress-cert", INGRESS, X_Secret_Key=agent)
    assert got.status == 201, got.body
    kept = await site.ask("GET", f"{path}/downloads/files?file_name=ingress-ca.crt")
    assert kept.body.decode().strip() == INGRESS.strip()
    assert await credential(site, path, "kubeconfig") == before, "it is not among the authorities of the API"
    got = await site.ask(
        "POST", f"{path}/actions/complete-installation", {"is_success": True}, X_Secret_Key=agent
    )
    assert got.status == 403, "only the controller of an OpenShift cluster ends an installation"


async def credential(site: Whole, cluster: str, name: str) -> bytes:
    got = await site.ask("GET", f"{cluster}/downloads/credentials?file_name={name}")
    assert got.status == 200, got.body
    return got.body


def test_three_hosts_become_a_cluster(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            cluster = await site.make_cluster()
            async with site.hosts(cluster["infra_env_id"], machines(3)) as drive:
                await site.until(cluster["id"], lambda each: each["status"] == "ready")
                got = await site.ask("POST", f"/clusters/{cluster['id']}/actions/install")
                assert got.status == 202, got.body
                await site.until(cluster["id"], lambda each: each["status"] == "finalizing")
                await finish(site, cluster)
                done = await site.until(cluster["id"], lambda each: each["status"] == "installed")
            assert {host["status"] for host in done["hosts"]} == {"installed"}
            assert done["progress"]["total_percentage"] == 100
            written = {loop.host.id: {each.path for each in loop.host.written} for loop in drive.loops}
            planned = {host["id"]: {host["installation_disk_path"]} for host in done["hosts"]}
            assert written == planned

    play(scene)
