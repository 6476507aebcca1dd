# SPDX-License-Identifier: Apache-2.0
"""Docker's own registry, as the lab starts it: TLS, and a login."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from muster.lab.services.registry import Registry, describe_registry
from muster.lab.services.service import Place, start_service
from muster.toolbox import Toolbox
from tests.component.release.authority import Authority
from tests.component.release.rough_registry import LOGIN
from tests.component.release.served import save_users


@dataclass(frozen=True)
class DockerRegistry:
    """One that serves."""

    host: str
    authority: Authority
    log: Path


@contextmanager
def start_docker_registry(toolbox: Toolbox, folder: Path) -> Iterator[DockerRegistry]:
    """Serve from a folder at a free port."""
    authority = Authority(folder)
    users = save_users(folder / "htpasswd", LOGIN)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    registry = Registry(
        "127.0.0.1", port, certificate=authority.certificate, key=authority.key, htpasswd=users
    )
    service = describe_registry(registry, program=toolbox.argv("docker-registry"))
    pid = start_service(service, Place(folder / "services"))
    try:
        yield DockerRegistry(f"127.0.0.1:{port}", authority, folder / "services" / "registry" / "log")
    finally:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
