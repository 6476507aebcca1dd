# SPDX-License-Identifier: Apache-2.0
"""Routes of the main table, of both families."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from muster.agent.inventory.found import CannotTell, Found
from muster.agent.inventory.ip import Hop, RouteRecord, ask_routes
from muster.machine import Machine
from muster.model.wire.inventory import Inventory, Route

_FAMILIES: Final = (("-4", 2, "0.0.0.0"), ("-6", 10, "::"))  # noqa: S104
"""The option of ip, the number of the family, and the destination of its default route."""


async def collect_routes(machine: Machine) -> Found:
    """The routes of a host; one family is told of even if the other cannot be."""
    routes: list[Route] = []
    troubles: list[str] = []
    for option, family, everywhere in _FAMILIES:
        try:
            records, wrong = await ask_routes(machine, option)
        except CannotTell as error:
            troubles.append(str(error))
            continue
        troubles.extend(wrong)
        routes.extend(route for each in records for route in make_routes(each, family, everywhere))
    if len(troubles) == len(_FAMILIES) and not routes:
        raise CannotTell("; ".join(troubles))
    return Found(Inventory(routes=tuple(routes)), troubles=tuple(troubles))


def make_routes(record: RouteRecord, family: int, everywhere: str) -> Iterator[Route]:
    """A route for each of the ways that it can take."""
    if record.type != "unicast":
        return
    destination = everywhere if record.dst == "default" else record.dst.partition("/")[0]
    for hop in record.nexthops or (record,):
        if hop.dev and destination:
            yield Route(
                interface=hop.dev,
                gateway=_gateway(hop) or None,
                destination=destination,
                family=family,
                metric=record.metric,
            )


def _gateway(hop: Hop) -> str:
    other = hop.via.get("host")
    return hop.gateway or (other if isinstance(other, str) else "")
