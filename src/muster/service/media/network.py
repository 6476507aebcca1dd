# SPDX-License-Identifier: Apache-2.0
"""Static networks of hosts, as the interface has them → the profiles that NetworkManager reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from muster.config.document.parse import parse_yaml
from muster.config.network import read_network
from muster.errors import UserError
from muster.frozen import dataclass
from muster.model.bounded_yaml import MAX_REQUEST_NODES
from muster.model.catalogue import Severity
from muster.model.plan import Card
from muster.model.problem import Problem, in_order
from muster.model.tree import Source
from muster.model.wire.infra_env import HostStaticNetworkConfig

_MOST_TEXT: Final = 128 << 10
"""Characters of the network of one host."""
_MAC: Final = re.compile(r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}", re.IGNORECASE)


@dataclass(frozen=True)
class HostNetwork:
    """The cards of a host, and its profiles by file name."""

    cards: tuple[Card, ...]
    keyfiles: tuple[tuple[str, str], ...]


@lru_cache(maxsize=8)
def read_networks(given: tuple[HostStaticNetworkConfig, ...]) -> tuple[HostNetwork, ...]:
    """The networks of all hosts; what is wrong is told with its place. A medium asks for them repeatedly."""
    found = tuple(_read(host, f"static_network_config[{index}]") for index, host in enumerate(given))
    owners: dict[str, int] = {}
    for index, host in enumerate(found):
        for card in host.cards:
            first = owners.setdefault(card.mac_address, index)
            if first != index:
                raise UserError(
                    f"static_network_config[{first}] and [{index}] both have the card {card.mac_address}",
                    hint="give each host its own MAC addresses",
                )
    return found


def _read(host: HostStaticNetworkConfig, where: str) -> HostNetwork:
    return HostNetwork(tuple(_read_cards(host, where)), _read_yaml(host.network_yaml or "", where))


def _read_cards(host: HostStaticNetworkConfig, where: str) -> Iterator[Card]:
    if not host.mac_interface_map:
        raise UserError(
            f"{where} names no card",
            hint="fill mac_interface_map: a host finds its network by the MAC addresses of its cards",
        )
    for entry in host.mac_interface_map:
        if not _MAC.fullmatch(entry.mac_address):
            raise UserError(
                f"{where}: {entry.mac_address!r} is not a MAC address", hint="write it as 52:54:00:ab:cd:ef"
            )
        if not entry.logical_nic_name or not entry.logical_nic_name.strip():
            raise UserError(
                f"{where}: the card {entry.mac_address} has no name",
                hint="set logical_nic_name to what network_yaml calls the card",
            )
        yield Card(entry.logical_nic_name.strip(), entry.mac_address.lower())


def _read_yaml(text: str, where: str) -> tuple[tuple[str, str], ...]:
    if len(text) > _MOST_TEXT:
        raise UserError(
            f"{where}.network_yaml is longer than {_MOST_TEXT >> 10} KiB",
            hint="leave out interfaces that the host does not need to start",
        )
    documents, problems = parse_yaml(Source(f"{where}.network_yaml", text), MAX_REQUEST_NODES)
    _refuse(problems)
    if len(documents) != 1:
        raise UserError(
            f"{where}.network_yaml holds {len(documents)} documents", hint="write one NMState document"
        )
    _, keyfiles = read_network(documents[0], problems)
    _refuse(problems)
    return keyfiles


def _refuse(problems: list[Problem]) -> None:
    for each in in_order(problems):
        if each.severity is Severity.ERROR:
            place = f"{each.place.source.name}:{each.place.line}"
            raise UserError(f"{place}: {each.message}", hint=each.fix)
