# SPDX-License-Identifier: Apache-2.0
"""install-config.yaml beside cluster-manifests/: one cluster, or two?"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeAlias

from muster.config import derive
from muster.config.formats.pem import read_bundle
from muster.config.kinds import MANIFESTS_DIR
from muster.config.lift import lift_manifests
from muster.config.networks import plugin_node, plugin_of
from muster.config.rules.machines import is_file
from muster.frozen import dataclass
from muster.model.install_config import InstallConfig
from muster.model.machine_pool import MachinePool
from muster.model.problem import Place, Problem, problem
from muster.model.schema import Items
from muster.model.site import Site
from muster.model.tree import NOWHERE, Map, Node, Scalar
from muster.model.values import Secret


@dataclass(frozen=True)
class _Said:
    """What a file says about a field: the value to compare, how to show it, and its place."""

    value: object
    shown: str
    node: Node


_Reader: TypeAlias = Callable[[InstallConfig], _Said | None]


def check_descriptions(site: Site) -> Iterator[Problem]:
    """What install-config.yaml and the manifests both say is the same."""
    written = site.install
    if written is None or site.manifests is None or _is_manifest(written.node):
        return
    found: list[Problem] = []
    lifted = lift_manifests(site.manifests, found)
    yield from found
    if lifted is None:
        return
    for field, read in _FIELDS.items():
        first, second = read(written), read(lifted)
        if first is None or second is None or first.value == second.value or not _is_manifest(second.node):
            continue
        yield problem(
            "several-descriptions",
            Place.of_key(second.node) if isinstance(second.node, Map) else second.node,
            field=field,
            first=first.shown or "one thing",
            second=second.shown or "another",
            file=Place.of_key(first.node).where,
        )


def _is_manifest(node: Node) -> bool:
    name = node.source.name
    return name.startswith(f"{MANIFESTS_DIR}/") and not is_file(name, "install-config.yaml")


def _plain(name: str, show: Callable[[object], str] = str) -> _Reader:
    """A field of install-config.yaml itself."""

    def read(install: InstallConfig) -> _Said | None:
        value = getattr(install, name)
        if value is None or value in ("", ()):
            return None
        return _Said(value, show(value), install.at(name))

    return read


def _hidden(_: object) -> str:
    return ""


def _name(install: InstallConfig) -> _Said | None:
    metadata = install.metadata
    return _Said(metadata.name, metadata.name, metadata.at("name")) if metadata and metadata.name else None


def _listed(pick: Callable[[InstallConfig], Items[Any]]) -> _Reader:
    """A list of addresses or networks that is not a default."""

    def read(install: InstallConfig) -> _Said | None:
        items = pick(install)
        if not items or items.nodes[0] is NOWHERE:
            return None
        return _Said(tuple(items), _joined(items), items.nodes[0])

    return read


def _joined(items: Iterable[object]) -> str:
    return ", ".join(str(item) for item in items)


def _replicas(pick: Callable[[InstallConfig], MachinePool | None]) -> _Reader:
    def read(install: InstallConfig) -> _Said | None:
        pool = pick(install)
        if pool is None or pool.replicas is None:
            return None
        return _Said(pool.replicas, str(pool.replicas), pool.at("replicas"))

    return read


def _platform(install: InstallConfig) -> _Said | None:
    name, node = derive.platform_name(install), install.at("platform")
    derived = _is_manifest(node) and not isinstance(node, Scalar)
    return _Said(name, name, node) if name and not derived else None


def _network_type(install: InstallConfig) -> _Said | None:
    networking = install.networking
    if networking is None or not (networking.network_type or networking.type):
        return None
    plugin = plugin_of(networking)
    return _Said(plugin, plugin, plugin_node(networking))


def _architecture(install: InstallConfig) -> _Said | None:
    pool = install.control_plane
    if pool is None or pool.architecture is None:
        return None
    return _Said(pool.architecture, str(pool.architecture), pool.at("architecture"))


def _ssh_key(install: InstallConfig) -> _Said | None:
    return _Said(install.ssh_key.split(), "", install.at("ssh_key")) if install.ssh_key else None


def _pull_secret(install: InstallConfig) -> _Said | None:
    secret = install.pull_secret
    return _Said(_content(secret), "", install.at("pull_secret")) if secret else None


def _content(secret: Secret) -> object:
    """What a pull secret says, however it is laid out."""
    try:
        return json.loads(secret.reveal())
    except (ValueError, RecursionError):
        return secret


def _bundle(install: InstallConfig) -> _Said | None:
    text = install.additional_trust_bundle
    if not text:
        return None
    return _Said(
        {block.certificate.der for block in read_bundle(text) if block.certificate},
        "",
        install.at("additional_trust_bundle"),
    )


def _proxy(name: str) -> _Reader:
    def read(install: InstallConfig) -> _Said | None:
        url = getattr(install.proxy, name, None)
        return _Said(url, "", install.proxy.at(name)) if install.proxy and url else None

    return read


_FIELDS: Final[dict[str, _Reader]] = {
    "metadata.name": _name,
    "baseDomain": _plain("base_domain"),
    "platform": _platform,
    "controlPlane.replicas": _replicas(lambda install: install.control_plane),
    "arbiter.replicas": _replicas(lambda install: install.arbiter),
    "compute.replicas": _replicas(lambda install: install.compute[0] if len(install.compute) == 1 else None),
    "controlPlane.architecture": _architecture,
    "networking.networkType": _network_type,
    "networking.machineNetwork": _listed(lambda install: derive.machine_networks(install.networking)),
    "networking.clusterNetwork": _listed(lambda install: derive.cluster_networks(install.networking)),
    "networking.serviceNetwork": _listed(lambda install: derive.service_networks(install.networking)),
    "apiVIPs": _listed(lambda install: derive.vips(install).api),
    "ingressVIPs": _listed(lambda install: derive.vips(install).ingress),
    "sshKey": _ssh_key,
    "pullSecret": _pull_secret,
    "proxy.httpProxy": _proxy("http_proxy"),
    "proxy.httpsProxy": _proxy("https_proxy"),
    "additionalTrustBundle": _bundle,
    "fips": _plain("fips", lambda value: str(value).lower()),
    "featureSet": _plain("feature_set"),
    "cpuPartitioningMode": _plain("cpu_partitioning_mode"),
    "additionalTrustBundlePolicy": _plain("additional_trust_bundle_policy"),
    "osImageStream": _plain("os_image_stream"),
    "capabilities": _plain("capabilities", _hidden),
}
"""What both can say. Texts that are long, or may hold a secret, are compared but not shown."""
