# SPDX-License-Identifier: Apache-2.0
"""What the service of a site knows: asked for, and put into a bundle in the same form as a host does."""

from __future__ import annotations

import io
from collections.abc import Iterator
from ipaddress import ip_interface
from typing import Any, Final

import msgspec

from muster.client.calls import Calls, Refused, Unreachable
from muster.client.snapshot import name_of, verdicts
from muster.frozen import dataclass
from muster.model.wire.cluster import Cluster
from muster.model.wire.files import Event
from muster.model.wire.host import Host
from muster.model.wire.inventory import Inventory
from muster.redact import printable
from muster.release.off_loop import off_loop
from muster.support.archive import unpack
from muster.support.reaching import Known, folder_name
from muster.support.room import Kept
from muster.support.secrets import clean_json
from muster.support.sink import Sink

TROUBLE: Final = "trouble.txt"
_PATIENCE_S: Final = 30.0
_LOGS_S: Final = 300.0
_NOT_FOUND: Final = 404


@dataclass(frozen=True)
class Told:
    """What the service told."""

    trouble: str = ""
    """Why it told nothing at all."""
    hosts: tuple[Known, ...] = ()
    kept: tuple[Kept, ...] = ()


async def ask_service(calls: Calls, cluster_id: str, to: Sink) -> Told:
    """Everything about a cluster, or about the only one that there is; never an error."""
    try:
        cluster, body = await _find_cluster(calls, cluster_id)
    except (Refused, Unreachable) as error:
        return Told(error.message)
    if cluster is None:
        return Told("it has no cluster of this site")
    hosts = cluster.hosts or ()
    kept = [await to.keep_text("cluster.json", body.decode(errors="replace"), clean_json)]
    kept.append(await off_loop(to.write, "checks.txt", map(to.clean, _checks(cluster, hosts))))
    kept.append(await _keep_why(calls, cluster.id, to))
    kept.append(await _keep_events(calls, cluster.id, to))
    for host in hosts:
        name = folder_name(name_of(host))
        if host.inventory:
            kept.append(await to.keep_text(f"inventory/{name}.json", host.inventory, clean_json))
        kept.append(await _keep_logs(calls, cluster.id, host, to))
    return Told("", tuple(Known(name_of(each), tuple(_addresses(each))) for each in hosts), tuple(kept))


async def _find_cluster(calls: Calls, wanted: str) -> tuple[Cluster | None, bytes]:
    found = await calls.read("GET", "/clusters", tuple[Cluster, ...], patience_s=_PATIENCE_S)
    ids = [each.id for each in found]
    if wanted not in ids and len(ids) != 1:
        return None, b""
    path = f"/clusters/{wanted if wanted in ids else ids[0]}"
    answer = await calls.call("GET", path, patience_s=_PATIENCE_S)
    try:
        return msgspec.json.decode(answer.body, type=Cluster), answer.body
    except msgspec.DecodeError as error:
        raise Unreachable(calls.target.url, f"the answer cannot be read: {error}") from error


def _checks(cluster: Cluster, hosts: tuple[Host, ...]) -> Iterator[str]:
    """What all checks say, those that are not passed first."""
    told = [("cluster", each) for each in verdicts(cluster.validations_info)]
    told += [(name_of(host), each) for host in hosts for each in verdicts(host.validations_info)]
    for of, each in sorted(told, key=lambda pair: pair[1].status == "success"):
        yield printable(f"{each.status:<8} {of}: {each.id}: {each.message}") + "\n"


async def _keep_why(calls: Calls, id: str, to: Sink) -> Kept:
    try:
        answer = await calls.call("GET", f"/clusters/{id}/why", patience_s=_PATIENCE_S)
    except (Refused, Unreachable) as error:
        return Kept(missed=(("service/why.json", error.message),))
    return await to.keep_text("why.json", answer.body.decode(errors="replace"), clean_json)


async def _keep_events(calls: Calls, id: str, to: Sink) -> Kept:
    path = f"/events?cluster_id={id}&limit=-1"
    try:
        events = await calls.read("GET", path, tuple[Event, ...], patience_s=_PATIENCE_S)
    except (Refused, Unreachable) as error:
        return Kept(missed=(("service/events.txt", error.message),))

    def write() -> Kept:
        lines = (
            f"{each.event_time:%Y-%m-%d %H:%M:%S}  {each.severity:<8}  {each.message}" for each in events
        )
        text = to.write("events.txt", (to.clean(printable(line) + "\n") for line in lines))
        bodies: Iterator[Any] = (msgspec.to_builtins(each) for each in events)
        return Kept(missed=(*text.missed, *to.write_lines("events.jsonl", bodies).missed))

    return await off_loop(write)


async def _keep_logs(calls: Calls, id: str, host: Host, to: Sink) -> Kept:
    """The logs that a host has sent; there are none before it was asked for them."""
    name = folder_name(name_of(host))
    try:
        query = f"logs_type=host&host_id={host.id}"
        answer = await calls.call("GET", f"/clusters/{id}/logs?{query}", patience_s=_LOGS_S)
    except Refused as error:
        missed = () if error.code == _NOT_FOUND else ((f"service/logs/{name}", error.message),)
        return Kept(missed=missed)
    except Unreachable as error:
        return Kept(missed=((f"service/logs/{name}", error.message),))
    target = to.folder / "logs" / name
    return await off_loop(unpack, io.BytesIO(answer.body), target, to.clean, to.room)


def _addresses(host: Host) -> Iterator[str]:
    """Where a host said that it is to be found, as far as one gets there from elsewhere."""
    try:
        inventory = msgspec.json.decode(host.inventory or "{}", type=Inventory)
    except msgspec.DecodeError:
        return
    for card in inventory.interfaces or ():
        for text in (*(card.ipv4_addresses or ()), *(card.ipv6_addresses or ())):
            try:
                address = ip_interface(text).ip
            except ValueError:
                continue
            if not address.is_link_local and not address.is_loopback:
                yield str(address)
