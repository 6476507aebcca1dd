# SPDX-License-Identifier: Apache-2.0
"""Network cards: every host is recognized by its own, and its network calls them by their names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from muster.config.document import edit
from muster.config.links import misspelt_entries
from muster.config.rules.documents import documents
from muster.config.rules.machines import cards
from muster.config.spelling import closest, is_typo, near_names
from muster.model.problem import Place, Problem, problem
from muster.model.site import Site, SiteHost
from muster.model.tree import Node, Sequence, is_null


def check_cards(site: Site) -> Iterator[Problem]:
    """Every host has a network card to be recognized by."""
    for host in site.hosts:
        node = host.host.places.get("interfaces")
        if isinstance(node, Sequence) and all(is_null(item) for item in node.items):
            yield problem("no-interfaces", Place.of_key(node), host=host.label)


def check_macs(site: Site) -> Iterator[Problem]:
    """Every MAC address belongs to one card."""
    first: dict[str, tuple[SiteHost, Node]] = {}
    for host, card in cards(site):
        mac = card.mac_address
        if mac is None:
            continue
        at = card.at("mac_address")
        if not mac.strip("0:"):
            yield problem("placeholder-mac", at, value=mac)
        elif mac in first and first[mac][1] is not at:
            owner, node = first[mac]
            yield problem("duplicate-mac", at, value=mac, owner=owner.label, line=Place.of(node).line)
        first.setdefault(mac, (host, at))


def check_network_macs(site: Site) -> Iterator[Problem]:
    """A MAC address that only a network names is not that of another host's card."""
    first = {
        card.mac_address: (host, card.at("mac_address")) for host, card in cards(site) if card.mac_address
    }
    for document in documents(site):
        for interface in document.network.interfaces if document.host else ():
            mac = interface.mac_address
            if not mac or not document.host or interface.name in document.cards:
                continue
            at = interface.at("mac_address")
            owner, node = first.setdefault(mac, (document.host, at))
            if owner is not document.host:
                yield problem("duplicate-mac", at, value=mac, owner=owner.label, line=Place.of(node).line)


def check_card_names(site: Site) -> Iterator[Problem]:
    """The cards of a host have different names, which its network knows."""
    for host in site.hosts:
        first: dict[str, Node] = {}
        for card in host.host.interfaces:
            if not card.name or not card.has("name"):
                continue
            at = card.at("name")
            if card.name in first:
                yield problem(
                    "duplicate-interface-name", at, value=card.name, line=Place.of(first[card.name]).line
                )
            first.setdefault(card.name, at)
        yield from _not_in_network(host, first)


def _not_in_network(host: SiteHost, names: dict[str, Node]) -> Iterator[Problem]:
    network = host.network
    known = network.mentioned_names() if network else ()
    if network is None or not known:
        return
    entries = network.interface_names()
    # A port without an entry and without a card is reported itself, with the card's name as the right one.
    odd_ports = [each for each in known if each not in entries and each not in names]
    odd_ports += misspelt_entries(network, names)
    free = [each for each in entries if each not in names]
    unknown = {name: at for name, at in names.items() if name not in known and not closest(name, odd_ports)}
    for name, at in unknown.items():
        close = near_names(name, free)
        certain = len(close) == 1 and (is_typo(name, close[0]) or len(unknown) == len(free) == 1)
        yield problem(
            "interface-not-in-network",
            at,
            value=name,
            host=host.label,
            hint=f"; did you mean {close[0]}?" if close else "",
            known=", ".join(known),
            edits=edit.replace_scalar(at, close[0]) if certain else (),
        )


def check_unnamed(site: Site) -> Iterator[Problem]:
    """Cards that networkConfig has to tell apart have names."""
    for host in site.hosts:
        nameless = [card for card in host.host.interfaces if is_null(card.places.get("name"))]
        if host.network is not None and len(nameless) > 1:
            at = Place.of(nameless[1].node)
            yield problem("unnamed-interfaces", at, host=host.label, count=len(nameless))


def check_boot_mac(site: Site) -> Iterator[Problem]:
    """Hosts of install-config.yaml boot from cards of their own, which their networks know."""
    platform = site.install.platform if site.install else None
    baremetal = platform.baremetal if platform else None
    if baremetal is None or (site.agent is not None and site.agent.hosts):
        return
    first: dict[str, tuple[SiteHost, Node]] = {}
    for host, described in zip(site.hosts, baremetal.hosts, strict=False):
        boot, at = described.boot_mac_address, described.at("boot_mac_address")
        owner, node = first.setdefault(boot or "", (host, at))
        if boot and owner is not host:
            yield problem("duplicate-mac", at, value=boot, owner=owner.label, line=Place.of(node).line)
            continue
        if host.network is None or not boot or described.node is not host.host.node:
            continue
        macs = [each.mac_address for each in host.network.interfaces if each.mac_address]
        if boot not in macs:
            yield problem("boot-mac-not-in-network", at, value=boot, known=", ".join(macs) or "none")


RULES: Final = (
    check_cards,
    check_macs,
    check_network_macs,
    check_card_names,
    check_unnamed,
    check_boot_mac,
)
