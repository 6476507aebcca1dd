# SPDX-License-Identifier: Apache-2.0
"""The machines of a site, wherever they are described: one list, in one form."""

from __future__ import annotations

from typing import Final

from muster.config.derive import host_counts
from muster.config.document.bind import Binder
from muster.config.network import read_network
from muster.model.agent_config import AgentConfig
from muster.model.host import Host, Interface
from muster.model.install_config import InstallConfig
from muster.model.manifests import NMStateConfig
from muster.model.nmstate import InterfaceType, NMState
from muster.model.nodes_config import NodesConfig
from muster.model.platform.baremetal import BareMetalHost
from muster.model.problem import Place, Problem, problem
from muster.model.schema import Items
from muster.model.site import Manifests, SiteHost
from muster.model.tree import Map, Node, to_plain

_BOOT_CARD: Final = "boot"
"""What a card is called of which only the MAC address is known."""


def collect_hosts(
    install: InstallConfig | None,
    agent: AgentConfig | None,
    manifests: Manifests | None,
    nodes: NodesConfig | None,
    problems: list[Problem],
) -> tuple[SiteHost, ...]:
    """The hosts of agent-config.yaml, else of install-config.yaml, else of the manifests."""
    hosts: list[Host] = list(agent.hosts) if agent else []
    baremetal = install.platform.baremetal if install and install.platform else None
    if baremetal and baremetal.hosts and hosts:
        problems.append(problem("hosts-twice", Place.of_key(baremetal.at("hosts"))))
    elif baremetal and not hosts:
        hosts = [_from_baremetal(host) for host in baremetal.hosts]
    if manifests is not None:
        free = host_counts(install).total - len(hosts) if hosts else len(manifests.nmstate_configs)
        hosts = _with_networks(hosts, manifests.nmstate_configs, free, problems)
    if nodes is not None and hosts:
        for host in nodes.hosts:
            if host.network_config is not None:
                read_network(host.network_config, problems)
    elif nodes is not None:
        hosts = list(nodes.hosts)
    return tuple(_site_host(index, host, problems) for index, host in enumerate(hosts))


def _site_host(index: int, host: Host, problems: list[Problem]) -> SiteHost:
    if host.network_config is None:
        return SiteHost(index, host)
    network, keyfiles = read_network(host.network_config, problems)
    return SiteHost(index, host, network, keyfiles)


def _from_baremetal(host: BareMetalHost) -> Host:
    """A host of install-config.yaml, as agent-config.yaml would have it."""
    names = {"name": "hostname", "boot_mac_address": "interfaces"}
    for name in ("role", "root_device_hints", "network_config", "bmc"):
        names[name] = name
    cards = _cards(host)
    return Host(
        node=host.node,
        places={new: host.at(old) for old, new in names.items() if host.has(old)},
        hostname=host.name,
        role=host.role,
        interfaces=Items(tuple(cards), tuple(each.node for each in cards)),
        root_device_hints=host.root_device_hints,
        network_config=host.network_config,
        bmc=host.bmc,
    )


def _cards(host: BareMetalHost) -> list[Interface]:
    """The cards that the network gives a MAC address to, else the one that the host boots from."""
    found: list[Interface] = []
    if isinstance(host.network_config, Map):
        network = Binder(partial=True).bind(NMState, host.network_config) or NMState()
        for entry in network.interfaces:
            if entry.name and entry.mac_address and entry.type in (None, InterfaceType.ETHERNET):
                places = {"name": entry.at("name"), "mac_address": entry.at("mac_address")}
                found.append(_card(entry.name, entry.mac_address, entry.node, places))
    if not found and host.boot_mac_address:
        at = host.at("boot_mac_address")
        found.append(_card(_BOOT_CARD, host.boot_mac_address, at, {"mac_address": at}))
    return found


def _card(name: str, mac_address: str, node: Node, places: dict[str, Node]) -> Interface:
    return Interface(name=name, mac_address=mac_address, node=node, places=places)


def _with_networks(
    hosts: list[Host], configs: tuple[NMStateConfig, ...], free: int, problems: list[Problem]
) -> list[Host]:
    """Add what nmstateconfig.yaml says to the hosts with the same cards, or make hosts of it if they fit."""
    found = list(hosts)
    owners = {card.mac_address: index for index, host in enumerate(hosts) for card in host.interfaces}
    given: set[int] = set()
    for spec in (config.spec for config in configs):
        if spec is None:
            continue
        macs = [card.mac_address for card in spec.interfaces if card.mac_address]
        index = next((owners[mac] for mac in macs if mac in owners), None)
        if index is None and hosts and macs and len(found) - len(hosts) >= free:
            at = Place.of_key(spec.at("interfaces"))
            problems.append(problem("network-without-host", at, macs=", ".join(macs)))
            if spec.config is not None:
                read_network(spec.config, problems)
            continue
        if index is None or index in given:
            # A second document for the same card is a host of its own: the rules tell that they collide.
            index = len(found)
            places = {"interfaces": spec.at("interfaces"), "network_config": spec.at("config")}
            host = Host(node=spec.node, places=places, interfaces=spec.interfaces, network_config=spec.config)
            found.append(host)
        else:
            other = found[index].network_config
            if other is not None and (spec.config is None or to_plain(other) != to_plain(spec.config)):
                line = Place.of(spec.node).line
                file = spec.node.source.name
                problems.append(problem("network-twice", Place.of_key(other), file=file, line=line))
            places = {**found[index].places, "network_config": spec.at("config")}
            cards = _named_cards(found[index].interfaces, spec.interfaces)
            found[index] = found[index].but(network_config=spec.config, interfaces=cards, places=places)
        given.add(index)
    return found


def _named_cards(listed: Items[Interface], described: Items[Interface]) -> Items[Interface]:
    """The cards of a host, by the names that the file with its network gives to them."""
    rest = dict(enumerate(described))
    cards = []
    for card in listed:
        same = (at for at, each in rest.items() if each.mac_address == card.mac_address)
        at = next(same, None)
        cards.append(card if at is None else rest.pop(at))
    cards += rest.values()
    return Items(tuple(cards), tuple(card.node for card in cards))
