# SPDX-License-Identifier: Apache-2.0
"""`muster host setup`: what is done once for a cluster, by its first host."""

from __future__ import annotations

import asyncio
import time
from contextlib import closing
from pathlib import Path

import click

from muster.cli import log, options
from muster.cli.loop import run_async


@click.command(epilog=options.examples("muster host setup", "journalctl -u muster-cluster-setup.service"))
@options.log_level
def setup(log_level: str | None) -> None:
    """Apply the cluster's own parts, the site's manifests and add-ons, and wait until they are ready.

    Nodes get their roles. All of it is wanted state: killed in the middle it is run again. How far it is
    stands in /var/lib/muster/cluster-setup.json. The login for it is removed at the end.
    """
    options.begin_without_site(log_level)
    run_async(_run)


async def _run() -> None:
    from muster.model.setting_up import SETUP_FOLDER
    from muster.node.api_line import ApiLine
    from muster.node.cluster_api import ClusterApi
    from muster.node.setting_up import Desk, SettingUp, load_plan

    root, folder = Path("/"), Path(SETUP_FOLDER)
    with closing(ApiLine(folder / "kubeconfig")) as line:
        desk = Desk(
            root=root,
            cluster=ClusterApi(line, folder / "manifests", asyncio.sleep),
            say=lambda text: log.say("%s", text),
            sleep=asyncio.sleep,
            clock=time.monotonic,
        )
        await SettingUp(load_plan(root), desk).run()
