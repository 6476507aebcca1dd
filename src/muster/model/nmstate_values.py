# SPDX-License-Identifier: Apache-2.0
"""The kinds of single values in NMState documents: nmstate judges them, so these never complain."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from ipaddress import ip_address, ip_network
from typing import Final, TypeVar

from muster.model.schema import Complain, Leaf
from muster.model.tree import Scalar
from muster.model.values import IP, Network, normal_mac

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)


def _silent(name: str, types: list[str], parse: Callable[[str], T | None]) -> Leaf[T]:
    """A kind that never complains; ``parse`` may raise ValueError."""

    def read(node: Scalar, _complain: Complain) -> T | None:
        try:
            return parse(node.text)
        except ValueError:
            return None

    return Leaf(name, {"type": types if len(types) > 1 else types[0]}, read)


_DIGITS: Final = re.compile(r"[-+]?[0-9]{1,18}\Z|0x[0-9A-Fa-f]{1,15}\Z", re.ASCII)
_TRUE: Final = frozenset(("1", "true", "yes", "on", "y"))
_FALSE: Final = frozenset(("0", "false", "no", "off", "n"))


def _to_integer(text: str) -> int | None:
    if not _DIGITS.match(text):
        return None
    return int(text, 16) if text.startswith("0x") else int(text)


def _to_boolean(text: str) -> bool | None:
    word = text.lower()
    return word in _TRUE if word in _TRUE | _FALSE else None


def _to_ip(text: str) -> IP | None:
    return None if "%" in text else ip_address(text)


INTEGER: Final = _silent("whole number", ["integer", "string"], _to_integer)
BOOLEAN: Final = _silent("true or false", ["boolean", "string", "integer"], _to_boolean)
IP_ADDRESS: Final[Leaf[IP]] = _silent("IP address", ["string"], _to_ip)
NETWORK: Final[Leaf[Network]] = _silent(
    "network (CIDR)", ["string"], lambda text: ip_network(text, strict=False)
)
MAC_ADDRESS: Final = _silent("MAC address", ["string"], normal_mac)


def one_of(options: type[E]) -> Leaf[E]:
    """One of the values of an enumeration."""
    return _silent(" | ".join(options), ["string"], options)
