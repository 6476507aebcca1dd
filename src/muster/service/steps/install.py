# SPDX-License-Identifier: Apache-2.0
"""The step that installs a host, and those that follow when it went wrong."""

from __future__ import annotations

from typing import Final, cast

import msgspec

from muster.model.wire.enums import HostRole
from muster.model.wire.infra_env import Proxy
from muster.model.wire.inventory import Inventory
from muster.model.wire.steps import InstallCmdRequest, LogsGatherCmdRequest, Step
from muster.service.derive.addresses import addressed
from muster.service.derive.disks import identify_any
from muster.service.derive.roles import effective_role
from muster.service.state import Cluster, Host, InfraEnv
from muster.service.steps.network import Args, as_json
from muster.service.steps.scene import ReleaseImages, Scene

_BY_DRIVE: Final = {
    "Multipath": ("root=/dev/disk/by-label/dm-mpath-root", "rw", "rd.multipath=default"),
    "iSCSI": ("rd.iscsi.firmware=1",),
    "RAID": ("rd.md=1", "rd.auto=1"),
}
_MAINFRAME: Final = ("rd.znet=", "rd.dasd=", "rd.zfcp=", "zfcp.allow_lun_scan=")


def make_install_step(
    host: Host, cluster: Cluster, infra_env: InfraEnv | None, images: ReleaseImages
) -> Step:
    """The step that installs a host. Its id was made durable before: it is the same each time."""
    assert host.install_step, "a host is told to install when that is durable"
    return Step(
        step_type="install",
        step_id=host.install_step,
        args=(as_json(_request(host, cluster, infra_env, images)),),
    )


def _request(
    host: Host, cluster: Cluster, infra_env: InfraEnv | None, images: ReleaseImages
) -> InstallCmdRequest:
    role = "bootstrap" if host.bootstrap else effective_role(host)
    keep = set(host.skip_formatting_disks)
    return InstallCmdRequest(
        cluster_id=cluster.id,
        infra_env_id=host.infra_env_id,
        host_id=host.id,
        role=cast("HostRole", role),
        boot_device=host.installation_disk_path,
        controller_image=images.controller,
        installer_image=images.installer,
        mco_image=images.mco or None,
        must_gather_image=images.must_gather or None,
        coreos_image=images.coreos or None,
        openshift_version=cluster.openshift_version or None,
        control_plane_count=cluster.control_plane_count,
        check_cvo=True,
        notify_num_reboots=True,
        disks_to_format=tuple(each for each in host.disks_to_be_formatted if each not in keep),
        installer_args=as_json(installer_args(host, cluster, infra_env)),
        proxy=_proxy(cluster),
    )


def _proxy(cluster: Cluster) -> Proxy | None:
    if not (cluster.http_proxy or cluster.https_proxy):
        return None
    return Proxy(
        http_proxy=cluster.http_proxy or None,
        https_proxy=cluster.https_proxy or None,
        no_proxy=cluster.no_proxy or None,
    )


def installer_args(host: Host, cluster: Cluster, infra_env: InfraEnv | None) -> list[str]:
    """Words for coreos-installer: those of people, then what the disk and the network ask for."""
    theirs: list[str] = msgspec.json.decode(host.installer_args) if host.installer_args else []
    inventory = host.inventory or Inventory()
    args = list(theirs)
    for karg in (*_mainframe_kargs(inventory), *_disk_kargs(host, inventory)):
        if karg not in theirs:
            args += ["--append-karg", karg]
    if infra_env is not None and infra_env.static_network_config:
        if "--copy-network" not in args and "-n" not in args:
            args.append("--copy-network")
    elif "--copy-network" not in theirs and not any(each.startswith("ip=") for each in theirs):
        for karg in _network_kargs(inventory, cluster):
            args += ["--append-karg", karg]
    return args


def _mainframe_kargs(inventory: Inventory) -> list[str]:
    if inventory.cpu is None or inventory.cpu.architecture != "s390x" or inventory.boot is None:
        return []
    return [each for each in (inventory.boot.command_line or "").split() if each.startswith(_MAINFRAME)]


def _disk_kargs(host: Host, inventory: Inventory) -> tuple[str, ...]:
    for disk in inventory.disks or ():
        if identify_any(disk, host.installation_disk_id):
            return _BY_DRIVE.get(disk.drive_type or "", ())
    return ()


def _network_kargs(inventory: Inventory, cluster: Cluster) -> list[str]:
    """DHCP on the interfaces that the machine networks are on."""
    networks = {each.cidr for each in cluster.machine_networks}
    found: dict[str, set[str]] = {}
    for nic, address, subnet in addressed(inventory):
        if subnet in networks and nic.mac_address:
            mac = nic.mac_address.lower().replace(":", "-")
            found.setdefault(mac, set()).add("dhcp6" if ":" in address else "dhcp")
    return [f"ip={mac}:{','.join(sorted(kinds))}" for mac, kinds in found.items()]


def logs_gather(scene: Scene) -> Args | None:
    """Its logs, and those of the control plane if it is the one that began; until they are here."""
    host, cluster = scene.host, scene.cluster
    if cluster is None or host.logs_collected_at is not None:
        return None
    request = LogsGatherCmdRequest(
        cluster_id=cluster.id,
        infra_env_id=host.infra_env_id,
        host_id=host.id,
        bootstrap=host.bootstrap,
        installer_gather=True,
        master_ips=_master_ips(scene, cluster) if host.bootstrap else None,
    )
    return (as_json(request),)


def _master_ips(scene: Scene, cluster: Cluster) -> tuple[str, ...]:
    networks = {each.cidr for each in cluster.machine_networks}
    return tuple(
        address
        for host in scene.realm.hosts.values()
        if effective_role(host) == "master"
        for _, address, subnet in addressed(host.inventory)
        if not networks or subnet in networks
    )


def stop_installation(scene: Scene) -> Args:  # noqa: ARG001
    """Stop what is under way."""
    return ()
