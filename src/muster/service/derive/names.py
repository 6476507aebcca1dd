# SPDX-License-Identifier: Apache-2.0
"""Names: what a host is called, also when its own name says nothing, and who is called the same."""

from __future__ import annotations

from typing import Any, Final

from muster.model.wire.inventory import Interface, Inventory
from muster.service.derive.addresses import addressed
from muster.service.derive.phases import is_given
from muster.service.realm import Draft, Realm
from muster.service.state import Host

_NAMELESS: Final = frozenset(
    {
        *("", "localhost", "localhost.localdomain", "localhost4", "localhost4.localdomain4"),
        *("localhost6", "localhost6.localdomain6", "(none)"),
    }
)
_KEY: Final = "names"
_MAX_TWINS: Final = 8
"""More names of the same kind say nothing new."""


def effective_name(host: Host) -> str:
    """What a host is called: as somebody wished, else as it calls itself."""
    return host.requested_hostname or (host.inventory.hostname if host.inventory is not None else None) or ""


def derive_name(host: Host) -> dict[str, Any]:
    """A name from its MAC for a host that calls itself localhost; it goes when the host gets a name."""
    if host.inventory is None or (host.requested_hostname and is_given(host.hostname_reason)):
        return {}
    own = (host.inventory.hostname or "").lower()
    if own not in _NAMELESS:
        return {"requested_hostname": "", "hostname_reason": ""} if host.requested_hostname else {}
    interface = _naming_interface(host.inventory)
    if interface is None or not interface.mac_address:
        return {}
    reason = f"it calls itself {own or 'nothing'}, so this is the MAC of {interface.name}"
    return {
        "requested_hostname": interface.mac_address.lower().replace(":", "-"),
        "hostname_reason": reason,
    }


def _naming_interface(inventory: Inventory) -> Interface | None:
    """The first interface by name with a MAC, those with an address first."""
    reachable = {interface.name for interface, _, _ in addressed(inventory)}
    found = [each for each in inventory.interfaces or () if each.mac_address and each.name]
    return min(found, key=lambda each: (each.name not in reachable, each.name), default=None)


class Names:
    """Who is called what, kept so that a new name costs as little as it changes."""

    def __init__(self) -> None:
        self.of: dict[str, str] = {}
        self.called: dict[str, dict[str, int]] = {}
        """By name: the hosts with it, and their numbers."""

    def set(self, id: str, number: int, name: str) -> set[str]:
        """A host has this name now; returns the names of which the hosts have to look again."""
        before = self.of.get(id, "")
        if before == name:
            return set()
        if before:
            del self.called[before][id]
            if not self.called[before]:
                del self.called[before]
        self.of.pop(id, None)
        if name:
            self.of[id] = name
            self.called.setdefault(name, {})[id] = number
        return {each for each in (before, name) if each}

    def twins(self, id: str, name: str) -> tuple[str, ...]:
        """Other hosts of a name, the first few of them."""
        others = self.called.get(name, {})
        if len(others) < 2:
            return ()
        return tuple(each for each in sorted(others, key=lambda each: others[each]) if each != id)[
            :_MAX_TWINS
        ]


def names_of(realm: Realm) -> Names:
    """The names of a realm, found anew if nobody keeps them."""
    kept = realm.cache.get(_KEY)
    if isinstance(kept, Names):
        return kept
    names = realm.cache[_KEY] = Names()
    for host in realm.hosts.values():
        names.set(host.id, host.number, effective_name(host).lower())
    return names


def derive_twins(draft: Draft, ids: set[str]) -> None:
    """Tell hosts of each other that are called the same, after these may have got new names."""
    names = names_of(draft.realm)
    touched: set[str] = set()
    for id in ids:
        host = draft.hosts.get(id)
        if host is None:
            touched |= names.set(id, 0, "")
        else:
            touched |= names.set(id, host.number, effective_name(host).lower())
    affected = {id for name in touched for id in names.called.get(name, ())}
    for id in sorted(affected | ids):
        if (host := draft.hosts.get(id)) is not None:
            draft.change(host, twins=names.twins(id, names.of.get(id, "")))
