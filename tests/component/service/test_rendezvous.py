# SPDX-License-Identifier: Apache-2.0
"""The service of a site: from its medium, and then from the disk of the host that served it."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from muster.service.hosting import Running
from muster.service.rendezvous.medium import load_medium
from muster.service.rendezvous.serving import Here, serve_installed, serve_live, wait_until_installed
from muster.serving.listen import open_socket, parse_endpoint
from tests.component.service.whole import play
from tests.seeds import fixed_secrets
from tests.unit.service.rendezvous.test_medium import boot

NOBODY = """\
[[registry]]
location = "quay.io"
blocked = true
[[registry.mirror]]
location = "127.0.0.1:1"
"""
"""Nobody listens there, and nobody else is asked."""


def has_site(running: Running, cluster_id: str, infra_env_id: str) -> bool:
    engine = running.service.engine
    return engine.has_cluster(cluster_id) and infra_env_id in {each.id for each in engine.infra_envs()}


def test_a_site_is_served_from_its_medium_and_again_from_a_copy_of_its_data(tmp_path: Path) -> None:
    root, secrets = tmp_path / "root", fixed_secrets()
    boot("single-node-none", root, secrets)
    (root / "etc/containers").mkdir(parents=True)
    (root / "etc/containers/registries.conf").write_text(NOBODY)
    ids = (secrets.cluster_id, secrets.infra_env_id)

    async def scene() -> None:
        with open_socket(parse_endpoint("127.0.0.1:0")) as listening:
            async with serve_live(
                load_medium(root), tmp_path / "live", listening, Here("emulated")
            ) as running:
                assert running.url == "https://192.0.2.10:8090"
                assert has_site(running, *ids), "before anybody is answered"
                cluster = running.service.engine.cluster(secrets.cluster_id)
                assert (cluster.name, cluster.control_plane_count) == ("shop1", 1)
        shutil.copytree(tmp_path / "live", tmp_path / "disk")
        with open_socket(parse_endpoint("127.0.0.1:0")) as listening:
            async with serve_installed(tmp_path / "disk", listening) as running:
                assert has_site(running, *ids)
                service = running.service
                over = asyncio.ensure_future(wait_until_installed(running, secrets.cluster_id))
                for status in ("error", "installed"):
                    assert not over.done()
                    await service.change(
                        lambda: service.engine.realm_of("cluster", secrets.cluster_id),
                        lambda draft, status=status: draft.change(draft.cluster, status=status),  # type: ignore[misc]
                    )
                await over

    play(scene, patience_s=120)
