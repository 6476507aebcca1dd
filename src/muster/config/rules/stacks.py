# SPDX-License-Identifier: Apache-2.0
"""Interfaces that are made of others: bonds, bridges, VRFs and VLANs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from muster.config import links
from muster.config.document import edit
from muster.config.rules.documents import Document, documents
from muster.config.spelling import closest, is_typo, near_names
from muster.model.nmstate import Interface, InterfaceType
from muster.model.problem import Place, Problem, problem
from muster.model.site import Site
from muster.model.tree import Node, is_null

_LEAST_VLAN: Final = 1
_MOST_VLAN: Final = 4094
_REAL: Final = (InterfaceType.ETHERNET, InterfaceType.INFINIBAND, InterfaceType.VETH, None)


def check_cards(site: Site) -> Iterator[Problem]:
    """The host's list of network cards names no interface that networkConfig makes."""
    for document in documents(site):
        if document.host is None:
            continue
        for card in document.host.host.interfaces:
            interface = document.network.find_interface(card.name) if card.name and card.has("name") else None
            if interface is None or _is_real(interface):
                continue
            below = [name for name, _ in (*interface.port_names(), *interface.base_names())]
            yield problem(
                "made-interface-listed",
                card.at("name"),
                value=card.name,
                kind=links.meant_type(interface) or interface.type,
                below=", ".join(below) or "the cards below it",
            )


def _is_real(interface: Interface) -> bool:
    return interface.type in _REAL and links.meant_type(interface) is None


def check_references(site: Site) -> Iterator[Problem]:
    """Ports and lower interfaces exist."""
    for document in documents(site):
        known, references = document.names, _references(document)
        there, misspelt = {*known}, document.misspelt
        used = {name for name, _ in references}
        free = [each for each in known if each not in used]
        for name, node in references:
            if name in there or not known or name in misspelt:
                continue
            right = closest(name, free) or closest(name, known)
            close = near_names(name, free) or near_names(name, known)
            certain = len(close) == 1 and is_typo(name, close[0])
            # Where no cards are listed, their names may stand in the bonds and bridges only.
            if not document.cards and not (right and is_typo(name, right)):
                continue
            yield problem(
                "unknown-port",
                node,
                value=name,
                hint=f"; did you mean {right}?" if right else "",
                known=", ".join(known),
                edits=edit.replace_scalar(node, close[0]) if certain else (),
            )


def _references(document: Document) -> list[tuple[str, Node]]:
    return [
        found
        for interface in document.network.interfaces
        if interface.is_up
        for found in (*interface.port_names(), *interface.base_names())
    ]


def check_ports(site: Site) -> Iterator[Problem]:
    """A port belongs to one bond or bridge, and leaves the addresses to it."""
    for document in documents(site):
        for port, before in links.shared_ports(document.network):
            owner = before.controller.name or ""
            yield problem(
                "port-twice", port.node, value=port.name, owner=owner, line=Place.of(before.node).line
            )
        for interface, node, port in links.addressed_ports(document.network):
            owner = port.controller.name or ""
            yield problem(
                "address-on-port", node, name=interface.name, owner=owner, line=Place.of(port.node).line
            )


def check_bonds(site: Site) -> Iterator[Problem]:
    """A bond has cards."""
    for document in documents(site):
        joined = {interface.controller for interface in document.network.interfaces}
        for interface in document.network.interfaces:
            group = interface.link_aggregation or interface.bond
            if interface.type is not InterfaceType.BOND or group is None or not interface.is_up:
                continue
            written = group.places.get("port") or group.places.get("ports")
            if not group.port and not group.ports and interface.name not in joined:
                at = Place.of_key(written if written is not None else group.node)
                yield problem("bond-without-ports", at, name=interface.name or "")


def check_vlans(site: Site) -> Iterator[Problem]:
    """A VLAN has a number and an interface below it, and is there once."""
    for document in documents(site):
        first: dict[tuple[str, int], Interface] = {}
        for interface in document.network.interfaces:
            vlan = interface.vlan
            if not interface.is_up:
                continue
            if vlan is None:
                if interface.type is InterfaceType.VLAN and is_null(interface.places.get("vlan")):
                    yield problem("vlan-without-settings", interface.at("name"), name=interface.name or "")
                continue
            if vlan.id is None:
                continue
            at = vlan.at("id")
            if not _LEAST_VLAN <= vlan.id <= _MOST_VLAN:
                yield problem("vlan-id", at, value=vlan.id, least=_LEAST_VLAN, most=_MOST_VLAN)
            before = first.setdefault((vlan.base_iface or "", vlan.id), interface)
            if before is not interface and before.vlan is not None and before.name != interface.name:
                line = Place.of(before.vlan.at("id")).line
                yield problem("vlan-twice", at, value=vlan.id, base=vlan.base_iface, line=line)


def check_mtu(site: Site) -> Iterator[Problem]:
    """An interface sends no larger packets than the one below it."""
    for document in documents(site):
        for interface in document.network.interfaces:
            if interface.mtu is None or not interface.is_up:
                continue
            for name, _ in interface.base_names():
                below = document.network.find_interface(name)
                if below is not None and below.mtu is not None and interface.mtu > below.mtu:
                    yield problem(
                        "mtu-above-base",
                        interface.at("mtu"),
                        value=interface.mtu,
                        name=interface.name,
                        below=name,
                        least=below.mtu,
                        line=Place.of(below.at("mtu")).line,
                    )


RULES: Final = (check_cards, check_references, check_ports, check_bonds, check_vlans, check_mtu)
