# SPDX-License-Identifier: Apache-2.0
"""Inventories: what a machine is, without what changes by itself."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from muster.model.wire.inventory import Cpu, Disk, Interface, Inventory
from muster.service.derive.disks import (
    device_path,
    find_same,
    identify,
    identify_any,
    judge_disks,
    needs_of,
)
from muster.service.derive.phases import HOST_OPEN
from muster.service.realm import Draft
from muster.service.refusals import BadRequest, StateConflict
from muster.service.replies.reading import check_kept, read_output
from muster.service.state import Host
from muster.service.states.host import installation_failed

_REAL: Final = frozenset({None, "", "physical", "vlan", "bond"})
"""Kinds of interfaces that count; older agents tell of these only, and of no kind."""
MOST: Final = {
    **{"interfaces": 512, "addresses": 512, "routes": 2000},
    **{"disks": 1000, "gpus": 256, "processor flags": 512},
}
_MOST_BYTES: Final = 768 << 10
"""Of an inventory that is kept: a thousand disks and hundreds of interfaces take 700 KiB at most."""
_MOST_TEXT: Final = 8192
"""Bytes of one text, such as the command line of the kernel."""
_LONGEST: Final = {"host name": 255, "interface name": 64, "MAC": 64, "address": 64}
_LONGEST_LIST: Final = 1000
"""Characters that are kept of what is on a disk."""
_MOST_SHARED: Final = 16 << 10
_FREQUENCY_STEP_MHZ: Final = 100
_ACCEPTING: Final = HOST_OPEN | {"installing-in-progress"}


def take_inventory(draft: Draft, host: Host, output: str) -> None:
    """What a host is made of."""
    is_again = host.status == "installing" and host.disk_unsure
    if host.status not in _ACCEPTING and not is_again:
        raise StateConflict(
            f"host {host.id} is {host.status}: its inventory is settled",
            hint="reset the host to discover it again",
        )
    found = read_output("inventory", output, Inventory)
    _check_amounts(found)
    _check_names(found)
    inventory = normalise(found)
    check_kept("inventory", inventory, most_bytes=_MOST_BYTES, most_text=_MOST_TEXT)
    cluster = None if draft.is_pool else draft.cluster
    judged = judge_disks(inventory, needs_of(host, inventory, cluster))
    if is_again:
        _settle_disk(draft, host, judged)
    else:
        draft.change(host, inventory=judged)


def _settle_disk(draft: Draft, host: Host, inventory: Inventory) -> None:
    """A host that is installed anew: the disk of before is looked for, whatever it is called now."""
    before = host.inventory.disks if host.inventory is not None else None
    planned = next((each for each in before or () if identify_any(each, host.installation_disk_id)), None)
    found = find_same(planned, inventory.disks or ()) if planned is not None else None
    if found is None:
        path = host.installation_disk_path or host.installation_disk_id
        serial = f" (serial {planned.serial})" if planned is not None and planned.serial else ""
        why = f"after it booted again, the disk {path}{serial} that it was to be installed on is not there"
        installation_failed(draft, host, why)
        return
    draft.change(host, inventory=inventory, installation_disk_path=device_path(found), disk_unsure=False)


def _check_amounts(inventory: Inventory) -> None:
    """Every rule looks at all of it, so no more is taken than a machine can have."""
    interfaces = inventory.interfaces or ()
    amounts = {
        "interfaces": len(interfaces),
        "disks": len(inventory.disks or ()),
        "routes": len(inventory.routes or ()),
        "gpus": len(inventory.gpus or ()),
        "processor flags": len((inventory.cpu.flags if inventory.cpu is not None else None) or ()),
        "addresses": sum(
            len(each.ipv4_addresses or ()) + len(each.ipv6_addresses or ()) for each in interfaces
        ),
    }
    for name, amount in amounts.items():
        if amount > MOST[name]:
            raise BadRequest(
                f"the inventory has {amount} {name}; at most {MOST[name]} are taken",
                hint="leave out those that are virtual or temporary",
            )


def _check_names(inventory: Inventory) -> None:
    """Others are told these, to reach the host or to know it by."""
    _check_length("host name", inventory.hostname)
    for each in inventory.interfaces or ():
        _check_length("interface name", each.name)
        _check_length("MAC", each.mac_address)
        for address in (*(each.ipv4_addresses or ()), *(each.ipv6_addresses or ())):
            _check_length("address", address)


def _check_length(what: str, text: str | None) -> None:
    if text is not None and len(text) > _LONGEST[what]:
        raise BadRequest(
            f"the inventory has the {what} {text[: _LONGEST[what]]!r}… of {len(text)} characters",
            hint=f"at most {_LONGEST[what]} are taken",
        )


def normalise(inventory: Inventory) -> Inventory:
    """An inventory that is the same as long as the machine is."""
    return replace(
        inventory,
        hostname=(inventory.hostname or "").strip() or None,
        interfaces=tuple(_interface(each) for each in inventory.interfaces or () if each.type in _REAL),
        disks=tuple(_disk(each) for each in inventory.disks or ()),
        cpu=_cpu(inventory.cpu) if inventory.cpu is not None else None,
    )


def _interface(interface: Interface) -> Interface:
    return replace(
        interface,
        flags=_shared(interface.flags) if interface.flags else None,
        ipv4_addresses=_sorted(interface.ipv4_addresses),
        ipv6_addresses=_sorted(interface.ipv6_addresses),
    )


def _sorted(texts: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return texts if not texts or len(texts) == 1 else tuple(sorted(texts))


def _disk(disk: Disk) -> Disk:
    holders = disk.holders and disk.holders[:_LONGEST_LIST]
    partitions = disk.partition_types and disk.partition_types[:_LONGEST_LIST]
    if holders != disk.holders or partitions != disk.partition_types:
        disk = replace(disk, holders=holders, partition_types=partitions)
    if disk.id and not disk.smart and disk.io_perf is None:
        return disk
    return replace(disk, id=disk.id or identify(disk), smart=None, io_perf=None)


def _cpu(cpu: Cpu) -> Cpu:
    frequency = cpu.frequency and round(cpu.frequency / _FREQUENCY_STEP_MHZ) * float(_FREQUENCY_STEP_MHZ)
    return replace(cpu, frequency=frequency, flags=_shared(cpu.flags) if cpu.flags else None)


@lru_cache(maxsize=512)
def kept_once(words: tuple[str, ...]) -> tuple[str, ...]:
    """The same words, kept once: hundreds of hosts have the same processor."""
    return words


def _shared(words: tuple[str, ...]) -> tuple[str, ...]:
    """The same words, kept once if they are few, because they stay in memory."""
    return kept_once(words) if sum(map(len, words)) <= _MOST_SHARED else words
