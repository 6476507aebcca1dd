# SPDX-License-Identifier: Apache-2.0
"""Where in a site's files the cause is of what a validation complains about, as far as files tell."""

from __future__ import annotations

from typing import Any, Final

from muster.config import derive
from muster.model.problem import Place
from muster.model.schema import Model
from muster.model.site import Site, SiteHost
from muster.model.tree import Node

PLACES: Final = {
    "machine-cidr-defined": "networking.machine_network",
    "machine-cidr-equals-to-calculated-cidr": "networking.machine_network",
    "cluster-cidr-defined": "networking.cluster_network",
    "service-cidr-defined": "networking.service_network",
    "no-cidrs-overlapping": "networking",
    "networks-same-address-families": "networking",
    "network-prefix-valid": "networking.cluster_network",
    "network-type-valid": "networking.network_type",
    "custom-manifests-requirements-satisfied": "networking.network_type",
    "api-vips-defined": "platform.*.api_vips",
    "api-vips-valid": "platform.*.api_vips",
    "ingress-vips-defined": "platform.*.ingress_vips",
    "ingress-vips-valid": "platform.*.ingress_vips",
    "sufficient-masters-count": "control_plane.replicas",
    "dns-domain-defined": "base_domain",
    "pull-secret-set": "pull_secret",
    "platform-requirements-satisfied": "platform",
    "all-hosts-are-ready-to-install": "",
    "ntp-server-configured": "",
    "rendezvous-ip-unique": "",
    "release-fetched": "image_digest_sources",
    "no-hosts-left-behind": "",
}
"""Where in install-config.yaml the cause of a failure is; the star is the platform."""

_NAMES: Final = dict.fromkeys(("hostname-unique", "hostname-valid"), "hostname")
_NETWORK: Final = dict.fromkeys(
    (
        *("belongs-to-machine-cidr", "belongs-to-majority-group", "has-default-route", "mtu-valid"),
        *("non-overlapping-subnets", "no-ip-collisions-in-network", "ignition-downloadable"),
        *("sufficient-network-latency-requirement-for-role", "sufficient-packet-loss-requirement-for-role"),
    ),
    "network_config",
)
_DISKS: Final = dict.fromkeys(
    (
        *("has-min-valid-disks", "sufficient-installation-disk-speed", "no-skip-installation-disk"),
        *("no-skip-missing-disk", "vsphere-disk-uuid-enabled", "matches-site-files"),
    ),
    "root_device_hints",
)
_ROLES: Final = dict.fromkeys(("has-cpu-cores-for-role", "has-memory-for-role"), "role")
HOST_PLACES: Final = {**_NAMES, **_NETWORK, **_DISKS, **_ROLES}
"""Which field of a host in agent-config.yaml is about it; the host as such when it lacks the field."""
CLUSTER_PLACES: Final = {
    "api-domain-name-resolved-correctly": "base_domain",
    "api-int-domain-name-resolved-correctly": "base_domain",
    "apps-domain-name-resolved-correctly": "base_domain",
    "dns-wildcard-not-configured": "base_domain",
    "machine-cidr-defined": "networking.machine_network",
    "compatible-with-cluster-platform": "platform",
    "valid-platform-network-settings": "platform",
    "container-images-available": "pull_secret",
}
"""What a host says that is about all of them: where in install-config.yaml it comes from."""
_TIME: Final = frozenset({"ntp-synced", "time-synced-between-host-and-service"})


def place_of_cluster(site: Site, id: str) -> Place | None:
    """Where the cause is of what a validation says of the cluster."""
    if id == "ntp-server-configured":
        return _time_servers(site)
    return place_in(site, PLACES.get(id, ""))


def place_of_host(site: Site, described: SiteHost | None, id: str) -> Place | None:
    """Where the cause is of what a validation says of a host, whether the files name it or not."""
    if id in CLUSTER_PLACES:
        return place_in(site, CLUSTER_PLACES[id])
    if id in _TIME and (place := _time_servers(site)) is not None:
        return place
    if described is None:
        return place_in(site, "control_plane.replicas")
    field = HOST_PLACES.get(id, "")
    if field and described.host.has(field):
        return Place.of_key(described.host.at(field))
    return Place.start_of(described.host.node)


def _time_servers(site: Site) -> Place | None:
    name = "additional_ntp_sources"
    return Place.of_key(site.agent.at(name)) if site.agent is not None and site.agent.has(name) else None


def place_in(site: Site, path: str) -> Place | None:
    """Where a field of install-config.yaml is, or as near to it as the file comes."""
    model: Any = site.install
    if not isinstance(model, Model) or not path:
        return None
    place: Node = model.node
    for name in path.split("."):
        if not isinstance(model, Model):
            break
        key = derive.platform_name(site.install) or "" if name == "*" else name
        if not model.has(key):
            break
        place, model = model.at(key), getattr(model, key)
    return Place.of_key(place)
