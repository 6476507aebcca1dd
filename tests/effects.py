# SPDX-License-Identifier: Apache-2.0
"""What a site, or a cluster of the service, comes to: the configs of live systems and nodes, and the disks.

Each is a flat dict, so that what a setting changes can be told by comparing two of them. Documents that only
carry what somebody wrote, such as manifests on a medium or the shown install-config, are not among it.
"""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from ipaddress import ip_interface, ip_network
from pathlib import Path
from typing import Any, Final

import msgspec

from muster.config.document.folder import Folder
from muster.config.load import load_site
from muster.config.resolve import resolve_site
from muster.image.agent_media import image_name, rootfs_url
from muster.image.credentials import Credentials, credentials_of
from muster.image.ignition.agent import agent_config, agent_tree
from muster.image.kernel import kernel_arguments
from muster.image.secrets import SiteSecrets
from muster.model.plan import Plan
from muster.model.release import KUBERNETES
from muster.model.site import Environment
from muster.model.wire.host import HostUpdateParams
from muster.model.wire.infra_env import HostStaticNetworkConfig, InfraEnvCreateParams
from muster.model.wire.inventory import Disk, Interface, Inventory
from muster.release.model import Release
from muster.service.decisions.clusters import register_cluster
from muster.service.decisions.hosts import update_host
from muster.service.decisions.infra_envs import register_infra_env
from muster.service.drivers.kubernetes import KubernetesDriver, SiteTerms
from muster.service.media.discovery import discovery_customization
from muster.service.media.order import Kind, MediumOrder
from muster.service.realm import Draft, Realm
from muster.service.release_driver import ClusterOrder
from muster.service.rendezvous.medium import load_medium
from muster.service.rendezvous.serving import course_of, terms_of
from muster.service.state import Cluster, Host, InfraEnv
from muster.service.steps.install import make_install_step
from muster.service.steps.scene import ReleaseImages
from tests.clusters import RELEASE
from tests.seeds import fixed_secrets, seeded
from tests.unit.service.hosts import CLUSTER, INFRA_ENV, NOW, make_disk, make_host, make_inventory

Effects = dict[str, str]
NETWORK: Final = "192.0.2.0/24"
OTHER_DISK: Final[Mapping[str, Any]] = {
    "by_id": "/dev/disk/by-id/canary",
    "hctl": "7:0:0:0",
    "model": "CANARY-MODEL",
    "vendor": "CANARY-VENDOR",
    "serial": "CANARY-SERIAL",
    "wwn": "0x5000c500canary",
    "drive_type": "HDD",
}
"""The second disk of every host; nothing but hints or people choose it."""
_ONLY_CARRIED: Final = (
    *("/etc/assisted/manifests/", "/etc/assisted/hostconfig/", "/etc/assisted/extra-manifests/"),
    *("/etc/assisted/medium.json", "/etc/issue.d/", "/etc/motd.d/"),
)
"""What the host that installs the others reads again, and what is shown to people."""
_IMAGES: Final = ReleaseImages("release", "installer", "controller")
_NETWORK_YAML: Final = """\
interfaces:
- name: eth0
  type: ethernet
  state: up
"""


def seal(_subject: str, _field: str, text: str) -> str:
    """Hides nothing."""
    return text


def effects_of_site(folder: Folder) -> Effects:
    """What a site with a release of Kubernetes comes to, by way of its medium."""
    site, _ = load_site(folder, Environment())
    plan = dataclasses.replace(resolve_site(site), release_kind=KUBERNETES)
    credentials = _credentials(plan)
    found = dict(_tree("live", agent_tree(plan, credentials)[0]))
    found["live kernel"] = str(kernel_arguments(plan))
    found["medium"] = f"{image_name(plan)} minimal={plan.minimal_iso}"
    if plan.minimal_iso and plan.boot_artifacts_base_url:
        found["medium fetches"] = rootfs_url(plan)
    with tempfile.TemporaryDirectory() as root:
        for file in agent_config(plan, credentials).files:
            path = Path(root) / file.path.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.data)
        medium = load_medium(Path(root))
    course = course_of(medium)
    realm = Realm(CLUSTER)
    draft = Draft(realm, NOW)
    register_cluster(draft, CLUSTER, course.cluster, seal)
    draft.apply()
    found["waits for"] = f"{course.expected} hosts"
    hosts = []
    for number in range(max(course.expected, len(course.wishes))):
        wish = course.wishes[number] if number < len(course.wishes) else None
        network = next((each.cidr for each in draft.cluster.machine_networks), NETWORK) or NETWORK
        addresses = plan.hosts[number].addresses if number < len(plan.hosts) else ()
        macs = sorted(wish.macs) if wish else []
        inventory = _inventory(number, network, addresses, macs)
        role = "master" if number < course.cluster.control_plane_count else "worker"  # type: ignore[operator]
        host = _host(number, inventory, role)
        hosts.append(_update(realm, host, wish.params(inventory)) if wish else host)
    found.update(_installed(draft.cluster, hosts, None, terms_of(medium, "default")))
    return found


@dataclass
class Asked:
    """What is asked of the interface for a cluster of three hosts."""

    cluster: Cluster
    infra_env: InfraEnv
    hosts: list[Host] = field(default_factory=list)


def ask(cluster: Cluster, infra_env: InfraEnv) -> Asked:
    """A cluster with three control-plane hosts and a worker."""
    inventories = [_inventory(number, NETWORK, (), []) for number in range(4)]
    hosts = [_host(n, each, "master" if n < 3 else "worker") for n, each in enumerate(inventories)]
    return Asked(cluster, infra_env, hosts)


def update(asked: Asked, number: int, params: HostUpdateParams) -> None:
    """Change a host as the interface does."""
    realm = Realm(CLUSTER, cluster=asked.cluster)
    asked.hosts[number] = _update(realm, asked.hosts[number], params)


def make_infra_env(params: InfraEnvCreateParams, cluster: Cluster | None = None) -> InfraEnv:
    """An infra-env as the interface registers it."""
    draft = Draft(Realm(INFRA_ENV), NOW)
    register_infra_env(draft, INFRA_ENV, params, cluster, seal)
    return draft.infra_env


def static_network(
    name: str = "eth0", mac: str = "52:54:00:00:00:01", mtu: int = 1500
) -> tuple[HostStaticNetworkConfig, ...]:
    """The network of a host, as infra-envs have it."""
    body = {
        "network_yaml": f"{_NETWORK_YAML}  mtu: {mtu}\n".replace("eth0", name),
        "mac_interface_map": [{"mac_address": mac, "logical_nic_name": name}],
    }
    return (msgspec.convert(body, HostStaticNetworkConfig),)


def effects_of_cluster(asked: Asked) -> Effects:
    """What a cluster of the service and its infra-env come to."""
    order = _medium_order(asked.infra_env)
    wanted = discovery_customization(order)
    found = dict(_tree("live", json.loads(wanted.ignition or b"")))
    found["live kernel"] = str((wanted.kargs_append, wanted.kargs_delete, wanted.kargs_replace))
    found["medium"] = f"{order.version} {order.architecture} {order.image_type}"
    found.update(_installed(asked.cluster, asked.hosts, asked.infra_env, None))
    return found


def _medium_order(infra_env: InfraEnv) -> MediumOrder:
    # As `EngineMedia.order_of`, without what signs and seals.
    return MediumOrder(
        infra_env_id=infra_env.id,
        name=infra_env.name,
        service_url="https://service.example.com:8090",
        media_url="http://service.example.com:8091",
        updated_at=NOW,
        agent_token="token",
        ca_certificate="",
        ssh_key=infra_env.ssh_authorized_key,
        proxy=infra_env.proxy,
        trust_bundle=infra_env.additional_trust_bundle,
        ntp_sources=tuple(
            filter(None, (infra_env.ntp_sources or infra_env.additional_ntp_sources).split(","))
        ),
        static_network=infra_env.static_network_config,
        ignition_override=infra_env.ignition_config_override,
        kernel_arguments=infra_env.kernel_arguments,
        pull_secret=infra_env.pull_secret,
        rendezvous_ip=infra_env.rendezvous_ip,
        image_type=Kind(infra_env.type),
        architecture=infra_env.cpu_architecture,
        version=infra_env.openshift_version,
    )


def _installed(
    cluster: Cluster, hosts: list[Host], infra_env: InfraEnv | None, terms: SiteTerms | None
) -> Iterator[tuple[str, str]]:
    """What is installed: the release, the disks, and the configs of nodes."""
    asked: list[str] = []

    def find(version: str, architecture: str) -> Release:
        asked.append(f"{version} {architecture}")
        return RELEASE

    order = ClusterOrder(cluster, tuple(hosts), cluster.pull_secret, {})
    files = KubernetesDriver(find, seeded("driver"), lambda: NOW, terms).prepare(order)
    for name, data in files.items():
        if name.startswith("host/"):
            yield from _tree(f"node {name[-6:-4]}", json.loads(data))
    yield "release", asked[0]
    for host in hosts:
        step = make_install_step(host, cluster, infra_env, _IMAGES)
        request = json.loads((step.args or ())[0])
        fields = ("role", "boot_device", "disks_to_format", "installer_args")
        yield f"install {host.number}", str([request.get(each) for each in fields])


def _tree(name: str, tree: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """An Ignition config, flat; what control-plane hosts keep of each other is the same again."""
    for file in tree["storage"]["files"]:
        if not file["path"].startswith(_ONLY_CARRIED) and "/kept/" not in file["path"]:
            yield f"{name} {file['path']}", str(file)
    rest = {key: value for key, value in tree["storage"].items() if key != "files"}
    yield f"{name} storage", str(rest)
    for part in ("ignition", "passwd", "systemd"):
        yield f"{name} {part}", str(tree.get(part))


def _inventory(number: int, network: str, addresses: tuple[str, ...], macs: list[str]) -> Inventory:
    around = ip_network(network)
    own = [ip_interface(each) for each in addresses if ip_interface(each).ip in around]
    address = str(own[0]) if own else f"{around[number + 40]}/{around.prefixlen}"
    card = Interface(
        name="eth0",
        mac_address=macs[0] if macs else f"52:54:00:00:01:{number:02x}",
        type="physical",
        mtu=1500,
        has_carrier=True,
        ipv4_addresses=(address,) if around.version == 4 else (),
        ipv6_addresses=(address,) if around.version == 6 else (),
    )
    other = make_disk("sdb", 900, **OTHER_DISK)
    return make_inventory(number, interfaces=(card,), disks=(make_disk(), other, *_further()))


@cache
def _further() -> tuple[Disk, ...]:
    """Disks that are emptied unless that is not wanted."""
    return (make_disk("sdc", 100),)


def _host(number: int, inventory: Inventory, role: str) -> Host:
    return make_host(
        number,
        inventory=inventory,
        role=role,
        bootstrap=number == 0,
        installation_disk_id="/dev/sda",
        installation_disk_path="/dev/sda",
        disks_to_be_formatted=("/dev/sdc",),
        install_step="install-1",
    )


def _update(realm: Realm, host: Host, params: HostUpdateParams) -> Host:
    realm.put("host", host.id, host)
    return update_host(Draft(realm, NOW), host, params, seal)


@cache
def _secrets() -> SiteSecrets:
    return fixed_secrets()


def _credentials(plan: Plan) -> Credentials:
    return credentials_of(plan, _secrets(), timedelta(days=7))
