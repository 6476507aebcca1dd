# SPDX-License-Identifier: Apache-2.0
"""Steps about the machine itself: what it is made of, how quick its disk is, which images it can get."""

from __future__ import annotations

from typing import Final

from muster.model.wire.steps import (
    ContainerImageAvailabilityRequest,
    DiskSpeedCheckRequest,
    DownloadBootArtifactsRequest,
    RebootForReclaimRequest,
    UpgradeAgentRequest,
)
from muster.service.state import Host
from muster.service.steps.network import Args, as_json
from muster.service.steps.scene import Scene

_DISK_TIMEOUT_S: Final = "480.00"
_IMAGES_TIMEOUT_S: Final = 960
_HOST_ROOT: Final = "/host"


def inventory(scene: Scene) -> Args:
    """What it is made of."""
    return (scene.host.id,)


def needs_disk_speed(host: Host) -> bool:
    """Whether the disk may be measured: not when something on it stays, for agents of others overwrite it."""
    boot = host.inventory.boot if host.inventory is not None else None
    is_running_from_disk = boot is not None and boot.device_type == "persistent"
    return (
        bool(host.installation_disk_path)
        and not is_running_from_disk
        and "--save-part" not in host.installer_args
    )


def installation_disk_speed_check(scene: Scene) -> Args | None:
    """How quick the disk is, once; again when that could not be found out.

    Nothing is written before somebody asked for an installation on this disk.
    """
    host = scene.host
    speed = host.disk_speeds.get(host.installation_disk_path)
    if not needs_disk_speed(host) or (speed is not None and speed.exit_code == 0):
        return None
    if speed is None and host.status != "preparing-for-installation":
        return None
    return (as_json(DiskSpeedCheckRequest(path=host.installation_disk_path)), _DISK_TIMEOUT_S)


def container_image_availability(scene: Scene) -> Args | None:
    """Which of the images it can get that it did not get yet."""
    images = scene.means.images
    if images is None:
        return None
    wanted = (images.release, images.mco, images.must_gather, images.installer)
    have = {each.name for each in scene.host.images if each.result == "success"}
    missing = tuple(each for each in dict.fromkeys(wanted) if each and each not in have)
    if not missing:
        return None
    return (as_json(ContainerImageAvailabilityRequest(images=missing, timeout=_IMAGES_TIMEOUT_S)),)


def upgrade_agent(scene: Scene) -> Args:
    """Another agent, before anything else."""
    return (as_json(UpgradeAgentRequest(agent_image=scene.means.agent_image)),)


def download_boot_artifacts(scene: Scene) -> Args | None:
    """The discovery image, to be started from the host's own disk."""
    artifacts = scene.means.artifacts
    if artifacts is None:
        return None
    request = DownloadBootArtifactsRequest(
        kernel_url=artifacts.kernel_url,
        rootfs_url=artifacts.rootfs_url,
        initrd_url=artifacts.initrd_url,
        host_fs_mount_dir=_HOST_ROOT,
    )
    return (as_json(request),)


def reboot_for_reclaim(scene: Scene) -> Args:  # noqa: ARG001
    """Start it."""
    return (as_json(RebootForReclaimRequest(host_fs_mount_dir=_HOST_ROOT)),)
