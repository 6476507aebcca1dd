# SPDX-License-Identifier: Apache-2.0
"""The other hosts of a cluster, and when a host need not wait for them any more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from muster.model.wire.host import Host

_CONTROL_PLANE: Final = ("master", "arbiter", "bootstrap")
_ON_DISK: Final = ("Rebooting", "Waiting for ignition", "Configuring", "Joined", "Done")


def missing_for_leaving(hosts: Iterable[Host], own_id: str) -> tuple[str, ...]:
    """Whom the rendezvous host waits for before it restarts, by name.

    The control plane has to stand without it, and every other host to be on its own disk: once the service is
    away, nobody is told anything for a while.
    """
    return tuple(
        _name(host)
        for host in hosts
        if host.id != own_id
        and host.status != "installed"
        and (_is_control_plane(host) or not _is_on_disk(host))
    )


def render_reached(hosts: Iterable[Host]) -> str:
    """How far all hosts are, without what changes every moment."""
    return " ".join(
        f"{host.id}:{host.status}:{host.progress.current_stage if host.progress else ''}" for host in hosts
    )


def is_control_plane_up(hosts: Iterable[Host]) -> bool:
    """Whether a worker finds a cluster to join: the control plane is there, but for the host that begins."""
    voters = [host for host in hosts if _is_control_plane(host) and not host.bootstrap]
    return all(host.status == "installed" for host in voters)


def _is_control_plane(host: Host) -> bool:
    return host.role in _CONTROL_PLANE


def _is_on_disk(host: Host) -> bool:
    return host.progress is not None and host.progress.current_stage in _ON_DISK


def _name(host: Host) -> str:
    return host.requested_hostname or host.id or "a host"
