# SPDX-License-Identifier: Apache-2.0
"""Addresses that two machines have: others hear several MACs answer for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from muster.service.derive.tallies import recount, tally_of
from muster.service.realm import Draft
from muster.service.state import Host

Heard: TypeAlias = tuple[str, str]
"""Whose address it is, and the address with the MACs that answered for it."""
_KEY: Final = "collisions"


def _heard(host: Host) -> Iterable[Heard]:
    return ((id, each) for id, peer in host.peers.items() for each in peer.doubled)


def derive_collisions(draft: Draft, ids: Iterable[str]) -> None:
    """Tell hosts of addresses of theirs that somebody else has too, after these heard something else."""
    said = tally_of(draft.realm, _KEY, _heard).said
    before = {id: said.get(id, frozenset()) for id in ids}
    tally, news = recount(draft, _KEY, _heard, ids)
    if not news:
        return
    found: dict[str, set[str]] = {
        owner: set() for id in ids for owner, _ in before[id] ^ said.get(id, frozenset())
    }
    for owner, what in tally.counts:
        if owner in found:
            found[owner].add(what)
    for owner in sorted(found):
        if (host := draft.hosts.get(owner)) is not None:
            draft.change(host, collisions=tuple(sorted(found[owner])))
