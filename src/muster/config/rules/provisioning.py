# SPDX-License-Identifier: Apache-2.0
"""The provisioning network of platform baremetal, over which the cluster installs hosts later."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from muster.config.derive import DEFAULT_PROVISIONING_NETWORK
from muster.config.networks import find_ip, known_machine_networks, network_of
from muster.config.rules.machines import platform_section
from muster.config.rules.management import SCHEMES, scheme_of
from muster.model.platform.baremetal import BareMetalPlatform, ProvisioningNetwork
from muster.model.problem import Place, Problem, problem
from muster.model.schema import Items
from muster.model.site import Site
from muster.model.tree import Node, is_null
from muster.model.values import IP, Network

FIELDS: Final = (
    "provisioning_network_interface",
    "provisioning_network_cidr",
    "provisioning_network_gateway",
    "provisioning_dhcp_range",
    "cluster_provisioning_ip",
    "provisioning_host_ip",
    "provisioning_dhcp_external",
)
"""Settings that have no effect when the cluster manages no machines."""
_LEAST_PREFIX_V6: Final = 64
_BOOTSTRAP_RANK: Final = 2
_CLUSTER_RANK: Final = 3
_DHCP_RANK: Final = 10
"""Which addresses of the provisioning network are bootstrap, service and the first of DHCP by default."""


class _Setup(NamedTuple):
    """The provisioning network as it will be."""

    platform: BareMetalPlatform
    mode: ProvisioningNetwork
    network: Network
    at: Place
    """Where the network is written, or what it follows from."""


def _setup(site: Site) -> _Setup | None:
    """The provisioning network, if the cluster manages machines and all that matters could be read."""
    platform = platform_section(site, BareMetalPlatform)
    if platform is None or not any(host.host.bmc and host.host.bmc.address for host in site.hosts):
        return None
    if any(platform.is_unread(name) for name in ("provisioning_network", "provisioning_network_cidr")):
        return None
    mode = platform.provisioning_network or ProvisioningNetwork.MANAGED
    if platform.provisioning_network is None and platform.provisioning_dhcp_external:
        mode = ProvisioningNetwork.UNMANAGED
    name = "provisioning_network_cidr" if platform.provisioning_network_cidr else "provisioning_network"
    at = Place.of(platform.at(name)) if platform.has(name) else Place.of_key(platform.node)
    return _Setup(platform, mode, platform.provisioning_network_cidr or DEFAULT_PROVISIONING_NETWORK, at)


def _cluster_ip(platform: BareMetalPlatform) -> tuple[IP, Node] | None:
    for name in ("cluster_provisioning_ip", "provisioning_host_ip"):
        found = getattr(platform, name)
        if found is not None:
            return found, platform.at(name)
    return None


def _default_ips(setup: _Setup) -> dict[str, IP]:
    """The addresses that are taken because no others are given, by the field that would give them."""
    given = {
        "bootstrapProvisioningIP": not is_null(setup.platform.places.get("bootstrap_provisioning_ip")),
        "clusterProvisioningIP": _cluster_ip(setup.platform) is not None,
    }
    ranks = {"bootstrapProvisioningIP": _BOOTSTRAP_RANK, "clusterProvisioningIP": _CLUSTER_RANK}
    return {
        key: setup.network.network_address + rank
        for key, rank in ranks.items()
        if not given[key] and rank < setup.network.num_addresses
    }


def check_network(site: Site) -> Iterator[Problem]:
    """The provisioning network is apart from the hosts' network, and DHCP can serve it."""
    setup, machine = _setup(site), known_machine_networks(site)
    if setup is None or setup.mode is ProvisioningNetwork.DISABLED:
        return
    for network in machine or Items[Network]():
        if network.overlaps(setup.network):
            given = "" if setup.platform.provisioning_network_cidr else " (the default)"
            yield problem("provisioning-overlap", setup.at, value=f"{setup.network}{given}", network=network)
    prefix = setup.network.prefixlen
    if setup.mode is ProvisioningNetwork.MANAGED and setup.network.version == 6 and prefix < _LEAST_PREFIX_V6:
        yield problem("provisioning-too-large", setup.at, value=setup.network, least=_LEAST_PREFIX_V6)


def check_addresses(site: Site) -> Iterator[Problem]:
    """The addresses of provisioning service and gateway are in the right network."""
    setup = _setup(site)
    if setup is None:
        return
    service = _cluster_ip(setup.platform)
    if setup.mode is ProvisioningNetwork.DISABLED:
        machine = known_machine_networks(site)
        if service and machine and not network_of(service[0], machine):
            words = ", ".join(map(str, machine))
            yield _outside(
                service, "the machine network, where it belongs without a provisioning network", words
            )
        return
    if service and service[0] not in setup.network:
        yield _outside(service, "the provisioning network", str(setup.network))
    gateway = setup.platform.provisioning_network_gateway
    if gateway is not None:
        yield from _check_gateway(
            setup, (gateway, setup.platform.at("provisioning_network_gateway")), service
        )


def _outside(found: tuple[IP, Node], where: str, networks: str) -> Problem:
    ip, node = found
    key = node.key.text if node.key else "the address"
    return problem("provisioning-outside", node, key=key, value=ip, where=where, networks=networks)


def _check_gateway(
    setup: _Setup, gateway: tuple[IP, Node], service: tuple[IP, Node] | None
) -> Iterator[Problem]:
    ip, node = gateway
    network = setup.network
    if ip not in network:
        yield _outside(gateway, "the provisioning network", str(network))
    elif service and ip == service[0]:
        what = f"the address of the provisioning service (line {Place.of(service[1]).line})"
        yield problem("provisioning-gateway", node, value=ip, what=what)
    elif ip == _default_ips(setup).get("clusterProvisioningIP"):
        what = "the address of the provisioning service (the default of clusterProvisioningIP)"
        yield problem("provisioning-gateway", node, value=ip, what=what)
    elif network.version == 4 and network.prefixlen < 31:
        edges = (("network", network.network_address), ("broadcast", network.broadcast_address))
        for edge, address in edges:
            if ip == address:
                what = f"the {edge} address of {network}"
                yield problem("provisioning-gateway", node, value=ip, what=what)


def check_dhcp_range(site: Site) -> Iterator[Problem]:
    """DHCP gives out addresses of the provisioning network that nobody else has."""
    setup = _setup(site)
    if setup is None or setup.mode is ProvisioningNetwork.DISABLED:
        return
    written = setup.platform.provisioning_dhcp_range
    text, node = written or _default_range(setup), setup.platform.at("provisioning_dhcp_range")
    if not text:
        return
    ends = [find_ip(part) for part in text.split(",")]
    known = [ip for ip in ends if ip is not None]
    reason = _range_fault(ends, known, setup.network)
    if reason:
        yield problem("dhcp-range", node, value=text, reason=reason)
        return
    where = f"line {Place.of(node).line}" if written else "the default"
    for key, ip, at in _taken(setup, node):
        if ip.version == known[0].version and int(known[0]) <= int(ip) <= int(known[1]):
            yield problem("address-in-dhcp-range", at, key=key, value=ip, range=text, where=where)


def _default_range(setup: _Setup) -> str:
    """What DHCP of the cluster gives out when nothing is said about it; empty when there is none."""
    network = setup.network
    if setup.mode is not ProvisioningNetwork.MANAGED or network.num_addresses <= _DHCP_RANK + 1:
        return ""
    return f"{network.network_address + _DHCP_RANK},{network.broadcast_address - 1}"


def _taken(setup: _Setup, dhcp_range: Node) -> Iterator[tuple[str, IP, Node]]:
    """The addresses that have an owner, and where that is said."""
    for key, ip in _default_ips(setup).items():
        yield f"{key} (the default)", ip, dhcp_range
    service = _cluster_ip(setup.platform)
    if service is not None:
        yield service[1].key.text if service[1].key else "the address", *service
    gateway = setup.platform.provisioning_network_gateway
    if gateway is not None:
        yield "provisioningNetworkGateway", gateway, setup.platform.at("provisioning_network_gateway")


def _range_fault(ends: list[IP | None], known: list[IP], network: Network) -> str:
    if len(ends) != 2:
        return "it is not two addresses with a comma between them"
    if len(known) != 2:
        return "a part of it is no IP address (no spaces are allowed)"
    outside = [ip for ip in known if ip not in network]
    if outside:
        return f"{outside[0]} is not in the provisioning network {network}"
    return "its end comes before its start" if int(known[1]) < int(known[0]) else ""


def check_controllers(site: Site) -> Iterator[Problem]:
    """Without a provisioning network, controllers can mount an image themselves."""
    setup = _setup(site)
    if setup is None or setup.mode is not ProvisioningNetwork.DISABLED:
        return
    for host in site.hosts:
        bmc = host.host.bmc
        scheme = scheme_of(bmc.address) if bmc and bmc.address else ""
        if bmc and scheme in SCHEMES and "virtualmedia" not in scheme:
            right = next((each for each in _virtual(scheme) if each in SCHEMES), "")
            advice = (
                f"use {right} if the controller can do that" if right else "use a protocol with virtualmedia"
            )
            yield problem("needs-provisioning-network", bmc.at("address"), scheme=scheme, advice=advice)


def _virtual(scheme: str) -> Iterator[str]:
    """The name of a protocol with virtual media."""
    name, plus, transport = scheme.partition("+")
    yield f"{name}-virtualmedia{plus}{transport}"
    yield f"{name.removesuffix('-redfish')}-virtualmedia{plus}{transport}"


RULES: Final = (check_network, check_addresses, check_dhcp_range, check_controllers)
