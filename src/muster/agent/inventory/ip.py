# SPDX-License-Identifier: Apache-2.0
"""What `ip -j` says of interfaces and routes: the fields that are looked at, and no others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar

import msgspec

from muster.agent.inventory.found import CannotTell
from muster.agent.inventory.reading import Count, parse_items, parse_json
from muster.machine import Machine

T = TypeVar("T")
_DEADLINE_S: Final = 15.0


class Address(msgspec.Struct, frozen=True):
    """An address of an interface."""

    family: str = ""
    local: str = ""
    prefixlen: Count = 0


class Kind(msgspec.Struct, frozen=True):
    """What an interface is made by, and what it is a part of."""

    info_kind: str = ""
    info_data: dict[str, Any] = {}
    info_slave_kind: str = ""
    info_slave_data: dict[str, Any] = {}


class LinkRecord(msgspec.Struct, frozen=True):
    """An interface."""

    ifname: str
    flags: tuple[str, ...] = ()
    mtu: Count | None = None
    address: str = ""
    permaddr: str = ""
    link_type: str = ""
    master: str = ""
    link: str | None = None
    linkinfo: Kind = Kind()
    addr_info: tuple[Address, ...] = ()

    @property
    def permanent_address(self) -> str:
        """The address that is burnt in; in a bond all cards show that of one."""
        if not self.is_bonded:
            return self.address
        told = self.linkinfo.info_slave_data.get("perm_hwaddr")
        return told if isinstance(told, str) and told else self.permaddr or self.address

    @property
    def is_bonded(self) -> bool:
        """Whether it is a part of a bond."""
        return self.linkinfo.info_slave_kind == "bond"


class Hop(msgspec.Struct, frozen=True):
    """Where a route leads to."""

    dev: str = ""
    gateway: str = ""
    via: dict[str, Any] = {}
    """The gateway when it is of the other family."""


class RouteRecord(Hop, frozen=True):
    """A route."""

    dst: str = ""
    type: str = "unicast"
    metric: Count | None = None
    nexthops: tuple[Hop, ...] = ()


async def ask_links(machine: Machine) -> tuple[list[LinkRecord], tuple[str, ...]]:
    """The interfaces of a host, and what of that makes no sense."""
    return await _ask(machine, ["ip", "-j", "-d", "address"], LinkRecord)


async def ask_routes(machine: Machine, family: str) -> tuple[list[RouteRecord], tuple[str, ...]]:
    """The routes of one family, -4 or -6, and what of that makes no sense."""
    return await _ask(machine, ["ip", "-j", family, "route", "show", "table", "main"], RouteRecord)


async def _ask(machine: Machine, argv: Sequence[str], kind: type[T]) -> tuple[list[T], tuple[str, ...]]:
    said = await machine.ask(argv, deadline_s=_DEADLINE_S)
    command = " ".join(argv)
    if not said.is_ok:
        raise CannotTell(f"{command} fails: {said.trouble}")
    return parse_items(parse_json(said.out, command) if said.out.strip() else [], kind, command)
