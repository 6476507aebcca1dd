# SPDX-License-Identifier: Apache-2.0
"""Collects what tells why a host is as it is, for the service. Sending it is not done here."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from muster.machine import Machine
from muster.model.wire.steps import LogsGatherCmdRequest
from muster.support.bundle import Wish, make_bundle
from muster.support.first_page import About

ARCHIVE: Final = "logs.tar.gz"


async def collect_logs(machine: Machine, request: LogsGatherCmdRequest, workdir: Path) -> Path:
    """Make an archive in a folder; whatever could not be collected, there is one."""
    title = f"Logs of host {request.host_id} in cluster {request.cluster_id}"
    wish = Wish(About(title, datetime.now(UTC)), workdir / ARCHIVE, "logs", workdir)
    return (await make_bundle(machine, wish)).archive
