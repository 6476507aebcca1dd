# SPDX-License-Identifier: Apache-2.0
"""The interfaces of NMState documents: what nmstate lets pass although it cannot be meant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from muster.config import links
from muster.config.document import edit
from muster.config.rules import routes, stacks
from muster.config.rules.documents import documents
from muster.config.spelling import closest, near_names
from muster.model.nmstate import Identifier, Interface, InterfaceType
from muster.model.problem import Place, Problem, problem
from muster.model.site import Site
from muster.model.tree import Node, Scalar, is_null, walk
from muster.model.values import normal_mac

_LONGEST_NAME: Final = 15
_MADE_NAME: Final = re.compile(r"(?:bond|br|vlan|team|vrf)|.*\.")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_CODES: Final = {"\n": "a line break", "\r": "a line break", "\t": "a tab"}
_ETHERNET_WORDS: Final = frozenset(("eth", "ether", "nic", "physical", "802-3-ethernet"))
"""What people and other tools call an ethernet card, and what is closer to another type by its letters."""
_IDENTIFIED: Final = {
    Identifier.MAC_ADDRESS: ("mac_address", "mac-address"),
    Identifier.PCI_ADDRESS: ("pci_address", "pci-address"),
}


def check_types(site: Site) -> Iterator[Problem]:
    """Every interface says what it is."""
    for document in documents(site):
        special = list(links.untyped_settings(document.network))
        for interface in links.strange_types(document.network):
            node = interface.places.get("type")
            if isinstance(node, Scalar) and not node.is_null:
                yield _unknown_type(interface, node)
            elif is_null(node):
                yield _missing_type(interface, is_special=interface in special)


def _missing_type(interface: Interface, *, is_special: bool) -> Problem:
    at, meant = interface.at("name"), links.meant_type(interface)
    right: str = meant or (InterfaceType.ETHERNET if not is_special else "linux-bridge or type: ovs-bridge")
    certain = meant is not None or not (is_special or _MADE_NAME.match(interface.name or ""))
    edits = edit.add_entry(at, "type", str(right)) if certain and not interface.has("type") else ()
    slug = "interface-type-needed" if is_special else "interface-type-missing"
    return problem(slug, at, name=interface.name or "", right=right, edits=edits)


def _unknown_type(interface: Interface, node: Scalar) -> Problem:
    meant = links.meant_type(interface)
    if meant is None and node.text.lower() in _ETHERNET_WORDS:
        meant = InterfaceType.ETHERNET
    right = meant or closest(node.text, list(InterfaceType))
    hint = f"; did you mean {right}?" if right else ""
    certain = meant is not None or len(near_names(node.text, InterfaceType)) == 1
    edits = edit.replace_scalar(node, str(right)) if right and certain else ()
    known = ", ".join(InterfaceType)
    return problem(
        "interface-type",
        node,
        value=node.text,
        name=interface.name or "",
        hint=hint,
        known=known,
        edits=edits,
    )


def check_names(site: Site) -> Iterator[Problem]:
    """Every interface has a name that the kernel and a file can have, and has it alone."""
    for document in documents(site):
        for interface in document.network.interfaces:
            reason = _name_fault(interface, interface.name) if interface.name is not None else ""
            if reason:
                yield problem("interface-name", interface.at("name"), value=interface.name, reason=reason)
        for right, interface in document.misspelt.items():
            at = interface.at("name")
            edits = edit.replace_scalar(at, right)
            yield problem("interface-misspelt", at, value=interface.name, right=right, edits=edits)
        for interface, before in links.repeated_interfaces(document.network):
            at = interface.at("name")
            yield problem("interface-twice", at, value=interface.name, line=Place.of(before.at("name")).line)


def _name_fault(interface: Interface, name: str) -> str:
    if not name:
        return "it is empty"
    if name in (".", "..") or "/" in name:
        return "it is used as the name of a file, so it may not hold a slash or be . or .."
    if re.search(r"\s", name) and not _CONTROL.search(name):
        return "it may not hold spaces"
    by_name = interface.identifier in (None, Identifier.NAME)
    if not by_name or interface.type is InterfaceType.OVS_BRIDGE:
        return ""
    if ":" in name:
        return "it may not hold a colon"
    if len(name.encode()) > _LONGEST_NAME:
        return f"it has {len(name)} characters, {_LONGEST_NAME} are allowed"
    return ""


def check_characters(site: Site) -> Iterator[Problem]:
    """No text breaks out of its line in the profile that is made of it."""
    for document in documents(site):
        for _, scalar in walk(document.network.node):
            found = _CONTROL.search(scalar.text)
            if found is not None:
                what = _CODES.get(found[0], f"the control character 0x{ord(found[0]):02x}")
                key = scalar.key.text if scalar.key else "the value"
                yield problem("control-character", Place.start_of(scalar), key=key, what=what)


def check_profiles(site: Site) -> Iterator[Problem]:
    """Every profile has a name of its own, because it is a file."""
    for document in documents(site):
        first: dict[str, Node] = {}
        for interface in document.network.interfaces:
            name, at = interface.profile_name, interface.at("profile_name")
            if name is None or not interface.is_up:
                continue
            if "/" in name or name in (".", ".."):
                reason = "it is used as the name of a file, so it may not hold a slash or be . or .."
                yield problem("interface-name", at, value=name, reason=reason)
            if first.setdefault(name, at) is not at:
                yield problem("profile-twice", at, value=name, line=Place.of(first[name]).line)
            owner = document.network.find_interface(name)
            if owner is not None and owner is not interface and owner.name == name and not owner.profile_name:
                yield problem("profile-twice", at, value=name, line=Place.of(owner.at("name")).line)


def check_identifiers(site: Site) -> Iterator[Problem]:
    """An interface that is found by an address has one."""
    for document in documents(site):
        for interface in document.network.interfaces:
            field, key = _IDENTIFIED.get(interface.identifier or Identifier.NAME, ("", ""))
            if not field or not interface.is_up or not is_null(interface.places.get(field)):
                continue
            card = document.cards.get(interface.name or "") if key == "mac-address" else None
            mac = card.mac_address if card else None
            at = interface.at("identifier")
            edits = edit.add_entry(at, "mac-address", str(mac)) if mac and not interface.has(field) else ()
            right = f", for example {key}: {mac}" if mac else ""
            yield problem("identifier-without-address", at, key=key, right=right, edits=edits)


def check_macs(site: Site) -> Iterator[Problem]:
    """MAC addresses can be read, and are those of the cards."""
    for document in documents(site):
        cards = document.cards
        for interface in document.network.interfaces:
            node = interface.places.get("mac_address")
            if not isinstance(node, Scalar) or node.is_null:
                continue
            mac = normal_mac(node.text)
            if mac is None:
                yield problem("not-a-mac", node, key="mac-address", value=node.text)
            elif int(mac[:2], 16) & 1:
                yield problem("mac-not-unicast", node, key="mac-address", value=node.text)
            elif interface.name in cards and cards[interface.name].mac_address not in (None, mac):
                card = cards[interface.name]
                line = Place.of(card.at("mac_address")).line
                other = card.mac_address
                yield problem("mac-disagrees", node, value=node.text, name=card.name, other=other, line=line)


def check_mtu(site: Site) -> Iterator[Problem]:
    """Packets are large enough for IP."""
    for document in documents(site):
        for interface, least in links.small_packets(document.network):
            yield problem(
                "mtu-too-small",
                interface.at("mtu"),
                name=interface.name,
                value=interface.mtu,
                least=least,
                version="IPv6" if least == links.LEAST_MTU_V6 else "IPv4",
            )


def check_states(site: Site) -> Iterator[Problem]:
    """An interface that is needed is switched on."""
    for document in documents(site):
        interfaces = document.network.interfaces
        off = [each for each in interfaces if not each.is_up]
        if off and len(off) == len(interfaces):
            names = ", ".join(interface.name or "" for interface in off)
            yield problem("no-interface-up", off[0].at("state"), names=names)
            continue
        missed = {route.next_hop_interface for route in links.lost_next_hops(document.network)}
        for interface in off:
            has_addresses = any(part and part.address for part in (interface.ipv4, interface.ipv6))
            if has_addresses and interface.name not in missed:
                at = interface.at("state")
                yield problem("interface-down", at, name=interface.name, state=interface.state)


def check_enabled(site: Site) -> Iterator[Problem]:
    """Addresses stand where IP is switched on, and DHCP is off."""
    for document in documents(site):
        for interface, settings in links.unused_addresses(document.network):
            version = "ipv4" if settings is interface.ipv4 else "ipv6"
            node = settings.places.get("enabled")
            at = Place.of_key(settings.node) if node is None else Place.of(node)
            edits = edit.insert_entry(settings.node, "enabled", "true") if node is None else ()
            yield problem("address-not-enabled", at, edits=edits, version=version, name=interface.name)
        for interface in document.network.interfaces:
            for version, part in (("ipv4", interface.ipv4), ("ipv6", interface.ipv6)):
                if part and part.address and part.enabled and part.dhcp and interface.is_up:
                    yield problem("dhcp-and-address", part.at("dhcp"), version=version, name=interface.name)


RULES: Final = (
    check_types,
    check_names,
    check_characters,
    check_profiles,
    check_identifiers,
    check_macs,
    check_mtu,
    check_states,
    check_enabled,
    *stacks.RULES,
    *routes.RULES,
)
