# SPDX-License-Identifier: Apache-2.0
"""Which steps belong to which state of a host."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from muster.service.steps import install, machine, network
from muster.service.steps.network import Args
from muster.service.steps.scene import Scene

Builder: TypeAlias = Callable[[Scene], Args | None]
"""Makes the arguments of a step; none: there is nothing to do."""

BUILDERS: Final[Mapping[str, Builder]] = {
    "inventory": machine.inventory,
    "ntp-synchronizer": network.ntp_synchronizer,
    "domain-resolution": network.domain_resolution,
    "verify-vips": network.verify_vips,
    "free-network-addresses": network.free_network_addresses,
    "dhcp-lease-allocate": network.dhcp_lease_allocate,
    "tang-connectivity-check": network.tang_connectivity_check,
    "api-vip-connectivity-check": network.api_vip_connectivity_check,
    "installation-disk-speed-check": machine.installation_disk_speed_check,
    "container-image-availability": machine.container_image_availability,
    "logs-gather": install.logs_gather,
    "stop-installation": install.stop_installation,
    "upgrade-agent": machine.upgrade_agent,
    "download-boot-artifacts": machine.download_boot_artifacts,
    "reboot-for-reclaim": machine.reboot_for_reclaim,
}

_CHECKS: Final = (
    *("inventory", "connectivity-check", "tang-connectivity-check", "free-network-addresses"),
    *("dhcp-lease-allocate", "ntp-synchronizer", "domain-resolution", "verify-vips"),
)
_DAY2_CHECKS: Final = (
    *("connectivity-check", "api-vip-connectivity-check", "tang-connectivity-check"),
    *("inventory", "ntp-synchronizer", "domain-resolution"),
)
_AFTER_FAILURE: Final = ("logs-gather", "stop-installation")

DAY1: Final[Mapping[str, tuple[str, ...]]] = {
    "discovering": ("inventory", "ntp-synchronizer", "domain-resolution"),
    "insufficient": (*_CHECKS, "installation-disk-speed-check"),
    "pending-for-input": _CHECKS,
    "known": (*_CHECKS, "container-image-availability"),
    "disconnected": ("inventory",),
    "preparing-for-installation": (
        *("dhcp-lease-allocate", "installation-disk-speed-check", "container-image-availability"),
    ),
    "installing": ("install", "dhcp-lease-allocate"),
    "installing-in-progress": ("dhcp-lease-allocate",),
    "error": _AFTER_FAILURE,
    "cancelled": _AFTER_FAILURE,
}
DAY2: Final[Mapping[str, tuple[str, ...]]] = {
    "discovering": ("inventory", "ntp-synchronizer", "domain-resolution"),
    "insufficient": _DAY2_CHECKS,
    "pending-for-input": _DAY2_CHECKS,
    "known": _DAY2_CHECKS,
    "disconnected": ("inventory",),
    "installing": ("install",),
    "error": _AFTER_FAILURE,
    "cancelled": _AFTER_FAILURE,
}
POOL: Final[Mapping[str, tuple[str, ...]]] = {
    "discovering-unbound": ("inventory", "ntp-synchronizer"),
    "insufficient-unbound": ("inventory", "ntp-synchronizer"),
    "known-unbound": ("inventory", "ntp-synchronizer"),
    "disconnected-unbound": ("inventory",),
    "reclaiming": ("download-boot-artifacts",),
    "reclaiming-rebooting": ("reboot-for-reclaim",),
}
EXIT: Final = frozenset({"binding", "unbinding", "unbinding-pending-user-action", "reclaiming-rebooting"})
"""In these the agent ends after what it is told."""
_UPGRADABLE: Final = frozenset(
    {
        *("binding", "discovering", "insufficient", "known", "pending-for-input"),
        *("discovering-unbound", "insufficient-unbound", "known-unbound"),
    }
)


def step_types(scene: Scene) -> tuple[str, ...]:
    """The steps that belong to the state of a host."""
    host = scene.host
    wanted = scene.means.agent_image
    if wanted and host.discovery_agent_version not in ("", wanted) and host.status in _UPGRADABLE:
        return ("upgrade-agent",)
    if host.status == "installing" and host.disk_unsure:
        return ("inventory",)
    day = DAY2 if scene.is_day2 else DAY1
    return day.get(host.status) or POOL.get(host.status, ())
