# SPDX-License-Identifier: Apache-2.0
"""Profiles of NetworkManager: what one says, for the form, and the commands that make it what is wished."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address
from typing import Final

from muster.console.wish import Bond, Family, Typed, Wish
from muster.frozen import dataclass
from muster.links import IP

_AUTO: Final = {4: "dhcp", 6: "auto"}
_METHODS: Final = ("auto", "dhcp", "link-local")
"""What NetworkManager calls a family that looks after itself."""


_UP: Final = ("nmcli", "--wait", "25", "connection", "up")


@dataclass(frozen=True)
class Profile:
    """What NetworkManager has for an interface."""

    uuid: str = ""
    typed: Typed = Typed()
    default_routes: tuple[tuple[str, int], ...] = ()
    """Routes to everywhere that do not stand as a gateway: the setting, and the number there."""


PROFILE_FIELDS: Final = tuple(
    f"{family}.{name}"
    for family in ("ipv4", "ipv6")
    for name in ("method", "addresses", "gateway", "dns", "routes")
)


def parse_profile(uuid: str, text: str) -> Profile:
    """A profile, from what `nmcli -e no -g PROFILE_FIELDS` says: a line for each of them."""
    lines = [*text.splitlines(), *[""] * len(PROFILE_FIELDS)]
    values = {name: value.strip() for name, value in zip(PROFILE_FIELDS, lines, strict=False)}
    servers = [values[f"{family}.dns"].replace(",", " ").replace(";", " ") for family in ("ipv4", "ipv6")]
    typed = Typed(
        ipv4=_spoken(4, values["ipv4.method"], values["ipv4.addresses"]),
        gateway4=values["ipv4.gateway"] or _default_gateway(values["ipv4.routes"]),
        ipv6=_spoken(6, values["ipv6.method"], values["ipv6.addresses"]),
        gateway6=values["ipv6.gateway"] or _default_gateway(values["ipv6.routes"]),
        dns=" ".join(" ".join(servers).split()),
    )
    routes = tuple(
        (f"{family}.routes", number)
        for family in ("ipv4", "ipv6")
        for number, route in enumerate(_routes(values[f"{family}.routes"]))
        if _is_default(route)
    )
    return Profile(uuid, typed, routes)


def _spoken(version: int, method: str, addresses: str) -> str:
    if method == "manual" and addresses:
        return addresses.replace(";", ",").partition(",")[0].strip()
    if method in ("disabled", "ignore"):
        return "off"
    return _AUTO[version] if method in ("", *_METHODS, "manual") else "off"


def _routes(text: str) -> list[list[str]]:
    """The words of each route, as NetworkManager shows them: 0.0.0.0/0 192.0.2.1 100, 10.0.0.0/8 192.0.2.2"""
    return [words for each in text.split(",") if (words := each.split())]


def _is_default(route: list[str]) -> bool:
    return route[0] in ("0.0.0.0/0", "::/0")


def _default_gateway(text: str) -> str:
    return next((each[1] for each in _routes(text) if _is_default(each) and _is_address(each[1:2])), "")


def _is_address(words: list[str]) -> bool:
    try:
        return bool(words) and ip_address(words[0]) is not None
    except ValueError:
        return False


def render_change(wish: Wish, profile: Profile) -> list[str]:
    """The command that makes NetworkManager's profile what is wished."""
    settings = [*_settings("ipv4", wish.ipv4, wish.dns, 4), *_settings("ipv6", wish.ipv6, wish.dns, 6)]
    name = wish.interface
    if wish.vlan:
        kind = ["type", "vlan", "con-name", name, "ifname", name, "dev", wish.carrier, "id", str(wish.vlan)]
        return ["nmcli", "connection", "add", *kind, *settings]
    if wish.bond:
        return [*_add_bond(wish.bond), *settings]
    if not profile.uuid:
        return ["nmcli", "connection", "add", "type", "ethernet", "con-name", name, "ifname", name, *settings]
    removed = [
        each
        for setting, number in sorted(profile.default_routes, key=lambda each: -each[1])
        for each in (f"-{setting}", str(number))
    ]
    return ["nmcli", "connection", "modify", "uuid", profile.uuid, *removed, *settings]


def render_start(wish: Wish, profile: Profile) -> list[str]:
    """The command that puts it to use."""
    is_same = profile.uuid and not wish.vlan and not wish.bond
    return [*_UP, "uuid", profile.uuid] if is_same else [*_UP, "id", wish.interface]


def render_commands(wish: Wish, profile: Profile) -> list[list[str]]:
    """All commands, in order: a bond has its ports before it is put to use."""
    bond = wish.bond
    if bond is None:
        return [render_change(wish, profile), render_start(wish, profile)]
    names = [f"{bond.name}-{port}" for port in bond.ports]
    return [
        *([[*_add_bond(bond), "ipv4.method", "disabled", "ipv6.method", "disabled"]] if wish.vlan else []),
        *(_add_port(bond, name, port) for name, port in zip(names, bond.ports, strict=True)),
        render_change(wish, profile),
        *([*_UP, "id", name] for name in names),
        render_start(wish, profile),
    ]


def _add_bond(bond: Bond) -> list[str]:
    kind = ["type", "bond", "con-name", bond.name, "ifname", bond.name]
    return ["nmcli", "connection", "add", *kind, "bond.options", f"mode={bond.mode},miimon=100"]


def _add_port(bond: Bond, name: str, port: str) -> list[str]:
    """A port goes before other profiles of the card, whenever the host starts."""
    kind = ["type", "ethernet", "con-name", name, "ifname", port, "master", bond.name, "slave-type", "bond"]
    return ["nmcli", "connection", "add", *kind, "connection.autoconnect-priority", "100"]


def _settings(name: str, family: Family, dns: Sequence[IP], version: int) -> list[str]:
    servers = ",".join(str(each) for each in dns if each.version == version)
    pairs = [
        (f"{name}.method", family.method),
        (f"{name}.addresses", family.address),
        (f"{name}.gateway", family.gateway),
        (f"{name}.dns", "" if family.method == "disabled" else servers),
    ]
    if family.method == "disabled":
        pairs.append((f"{name}.routes", ""))
    return [each for pair in pairs for each in pair]
