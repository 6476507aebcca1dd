# SPDX-License-Identifier: Apache-2.0
"""The kinds of single values that fields hold: text, numbers, addresses, names, secrets."""

from __future__ import annotations

import re
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, TypeAlias, TypeVar
from urllib.parse import urlsplit

from muster.model.schema import Complain, Free, Leaf
from muster.model.tree import Scalar

IP: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network
E = TypeVar("E", bound=StrEnum)

_STRING: Final = {"type": "string"}


class Secret:
    """A text that is never shown: not in messages, logs, reprs or plans."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself; only for what has to hand it on."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(…)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)


def _parse_text(node: Scalar, _complain: Complain) -> str:
    return node.text


def _parse_secret(node: Scalar, _complain: Complain) -> Secret:
    return Secret(node.text)


_DIGITS: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_WHOLE: Final = re.compile(r"([-+]?(?:0|[1-9][0-9]*))\.0*\Z")
"""A number with nothing behind its point, which readers of Kubernetes take for the whole number."""
_OLD_TRUE: Final = frozenset(("yes", "on", "y"))
_OLD_FALSE: Final = frozenset(("no", "off", "n"))


def _parse_integer(node: Scalar, complain: Complain) -> int | None:
    text = node.text.strip()
    whole = _WHOLE.match(text) if node.plain else None
    text = whole[1] if whole else text
    if not _DIGITS.match(text) or len(text) > 18:
        leading = re.match(r"0[0-9]+\Z", text)
        reason = "A leading zero means octal to some programs." if leading else "The value is counted with."
        complain("not-an-integer", reason=reason)
        return None
    if not node.plain:
        complain(
            "not-an-integer",
            reason="In quotes it is a text to other tools that read this file.",
            unquoted=text,
        )
    return int(text)


def _parse_boolean(node: Scalar, complain: Complain) -> bool | None:
    text = node.text.strip().lower()
    if text in ("true", "false"):
        if not node.plain:
            complain("not-a-boolean", unquoted=text)
        return text == "true"
    if node.plain and text in _OLD_TRUE | _OLD_FALSE:
        meant = text in _OLD_TRUE
        complain("old-boolean", repaired=str(meant).lower())
        return meant
    complain("not-a-boolean")
    return None


def _parse_ip(node: Scalar, complain: Complain) -> IP | None:
    text = node.text.strip()
    try:
        found = ip_address(text)
    except ValueError:
        return _parse_loose_ip(text, complain)
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    if mapped is None:
        return found
    complain("mapped-ip", repaired=str(mapped))
    return mapped


def _parse_loose_ip(text: str, complain: Complain) -> IP | None:
    """An address with a prefix or in brackets."""
    address, slash, prefix = text.partition("/")
    try:
        found = ip_address(address.strip("[]"))
    except ValueError:
        complain("not-an-ip")
        return None
    complain("not-an-ip", repaired=str(found) if not slash or prefix.isdigit() else None)
    return found


def _parse_network(node: Scalar, complain: Complain) -> Network | None:
    text = node.text.strip()
    try:
        found = ip_network(text, strict=False)
    except ValueError:
        found = None
    if found is None or not text.rpartition("/")[2].isdecimal() or "/" not in text:
        right = str(found) if found is not None and "/" in text else None
        complain("not-a-cidr", repaired=right)
        return found if right else None
    if found != _exact(text):
        complain("cidr-host-bits", repaired=str(found))
    return found


def _exact(text: str) -> Network | None:
    try:
        return ip_network(text)
    except ValueError:
        return None


_MAC_DIGITS: Final = re.compile(r"[0-9a-f]{12}\Z")
_MAC_FORMS: Final = re.compile(
    r"(?:[0-9A-Fa-f]{1,2}([:-]))(?:[0-9A-Fa-f]{1,2}\1){4}[0-9A-Fa-f]{1,2}\Z"
    r"|(?:[0-9A-Fa-f]{4}\.){2}[0-9A-Fa-f]{4}\Z|[0-9A-Fa-f]{12}\Z"
)


def normal_mac(text: str) -> str | None:
    """A MAC address as six lower-case pairs with colons, or None when it is none."""
    text = text.strip()
    if not _MAC_FORMS.match(text):
        return None
    if ":" in text or "-" in text:
        digits = "".join(part.zfill(2) for part in re.split("[:-]", text))
    else:
        digits = text.replace(".", "")
    digits = digits.lower()
    return ":".join(digits[i : i + 2] for i in range(0, 12, 2)) if _MAC_DIGITS.match(digits) else None


def _parse_mac(node: Scalar, complain: Complain) -> str | None:
    mac = normal_mac(node.text)
    if mac is None:
        complain("not-a-mac")
        return None
    if int(mac[:2], 16) & 1:
        complain("mac-not-unicast")
    elif mac != node.text:
        complain("mac-form", repaired=mac)
    return mac


_LABEL: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?\Z")


_LOCAL: Final = re.compile(r"localhost(?:|4|6|\.localdomain|4\.localdomain4|6\.localdomain6)\Z")


def name_fault(text: str) -> str:
    """Why a text is no DNS name, or nothing when it is one."""
    if not text:
        return "it is empty"
    if len(text) > 253:
        return f"it has {len(text)} characters, 253 are allowed"
    for label in text.split("."):
        if not label:
            return "it has an empty part between its dots"
        if len(label) > 63:
            return f"the part {label[:20]}... has {len(label)} characters, 63 are allowed"
        if not _LABEL.match(label):
            return f"the part {label!r} may hold only lower-case letters, digits and inner hyphens"
    return ""


def _hostname_fault(text: str) -> str:
    fault = name_fault(text)
    if not fault and _LOCAL.match(text):
        fault = "every machine has that name"
    if not fault and re.match(r"[0-9.]+\Z", text):
        fault = "it has digits alone, and programs take it for a number or an IP address"
    return fault


def _parse_hostname(node: Scalar, complain: Complain) -> str | None:
    fault = _hostname_fault(node.text)
    if not fault:
        return node.text
    lowered = node.text.strip().lower()
    repaired = None if _hostname_fault(lowered) else lowered
    complain("not-a-hostname", reason=fault, repaired=repaired)
    return repaired


def _parse_domain(node: Scalar, complain: Complain) -> str | None:
    text = node.text.rstrip(".")
    fault = name_fault(text)
    if fault:
        lowered = text.strip().lower()
        complain("not-a-domain", reason=fault, repaired=lowered if not name_fault(lowered) else None)
        return None if name_fault(lowered) else lowered
    return text


def _parse_ip_or_domain(node: Scalar, complain: Complain) -> str | None:
    text = node.text.strip()
    try:
        return str(ip_address(text))
    except ValueError:
        pass
    if name_fault(text.rstrip(".").lower()) or re.match(r"[0-9.]+\Z", text):
        complain("not-ip-or-domain")
        return None
    return text


def url_fault(text: str, schemes: tuple[str, ...]) -> str:
    """Why a text is no URL of these schemes, or nothing when it is one."""
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError as error:
        return str(error)
    if not parts.scheme:
        return "it has no scheme, such as " + " or ".join(f"{scheme}://" for scheme in schemes)
    if parts.scheme not in schemes:
        return f"the scheme is {parts.scheme}, it must be " + " or ".join(schemes)
    if not parts.hostname:
        return "it names no host"
    if re.search(r"\s", text):
        return "it contains a space"
    return ""


TEXT: Final = Leaf("text", _STRING, _parse_text)
SECRET: Final = Leaf("secret text", {**_STRING, "writeOnly": True}, _parse_secret, secret=True)
INTEGER: Final = Leaf("whole number", {"type": "integer"}, _parse_integer)
BOOLEAN: Final = Leaf("true or false", {"type": "boolean"}, _parse_boolean)
IP_ADDRESS: Final[Leaf[IP]] = Leaf(
    "IP address", {**_STRING, "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]}, _parse_ip
)
NETWORK: Final[Leaf[Network]] = Leaf(
    "network (CIDR)", {**_STRING, "pattern": "^[0-9A-Fa-f.:]+/[0-9]+$"}, _parse_network
)
MAC_ADDRESS: Final = Leaf(
    "MAC address", {**_STRING, "pattern": "^([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$"}, _parse_mac
)
HOSTNAME: Final = Leaf("host name", {**_STRING, "format": "hostname"}, _parse_hostname)
DOMAIN: Final = Leaf("domain name", {**_STRING, "format": "hostname"}, _parse_domain)
IP_OR_DOMAIN: Final = Leaf("IP address or domain name", _STRING, _parse_ip_or_domain)
FREE: Final = Free("free-form YAML", {})
NMSTATE: Final = Free("NMState", {"type": "object"})


def number(least: int, most: int | None = None, *, why: str) -> Leaf[int]:
    """A whole number between two bounds, both included."""
    span = f"between {least} and {most}" if most is not None else f"at least {least}"

    def parse(node: Scalar, complain: Complain) -> int | None:
        found = _parse_integer(node, complain)
        if found is None or (found >= least and (most is None or found <= most)):
            return found
        complain("out-of-range", range=span, reason=why)
        return None

    bounds = {"minimum": least} if most is None else {"minimum": least, "maximum": most}
    return Leaf(f"whole number {span}", {"type": "integer", **bounds}, parse)


def url(*schemes: str) -> Leaf[str]:
    """A URL with one of these schemes."""

    def parse(node: Scalar, complain: Complain) -> str | None:
        fault = url_fault(node.text, schemes)
        if fault:
            complain("not-a-url", reason=fault)
            return None
        return node.text

    return Leaf(f"URL ({', '.join(schemes)})", {**_STRING, "format": "uri"}, parse)


def choice(options: type[E]) -> Leaf[E]:
    """One of the values of an enumeration; its spelling is repaired when only the case is off."""
    words = [str(option) for option in options]

    def parse(node: Scalar, complain: Complain) -> E | None:
        if node.text in words:
            return options(node.text)
        same = [word for word in words if word.lower() == node.text.lower()]
        shown = ", ".join(word or '""' for word in words)
        complain("not-a-choice", choices=shown, repaired=same[0] if same else None)
        return options(same[0]) if same else None

    return Leaf(" | ".join(words), {**_STRING, "enum": words}, parse)
