# SPDX-License-Identifier: Apache-2.0
"""How many hosts say the same: kept as they change, so that nobody has to ask all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

from muster.service.realm import Draft, Realm
from muster.service.state import Host

T = TypeVar("T", bound=Hashable)


class Tally(Generic[T]):
    """What each host says, and how many say it."""

    def __init__(self) -> None:
        self.said: dict[str, frozenset[T]] = {}
        self.counts: Counter[T] = Counter()

    def set(self, id: str, words: Iterable[T]) -> bool:
        """A host says this now, and nothing else; whether that is news."""
        before, after = self.said.get(id, frozenset()), frozenset(words)
        if before == after:
            return False
        for word in before - after:
            self.counts[word] -= 1
            if not self.counts[word]:
                del self.counts[word]
        for word in after - before:
            self.counts[word] += 1
        if after:
            self.said[id] = after
        else:
            del self.said[id]
        return True


def tally_of(realm: Realm, name: str, words: Callable[[Host], Iterable[T]]) -> Tally[T]:
    """A tally of a realm, made anew if nobody keeps it."""
    kept: Tally[T] | None = realm.cache.get(name)
    if kept is None:
        kept = realm.cache[name] = Tally()
        for host in realm.hosts.values():
            kept.set(host.id, words(host))
    return kept


def recount(
    draft: Draft, name: str, words: Callable[[Host], Iterable[T]], ids: Iterable[str]
) -> tuple[Tally[T], bool]:
    """A tally after these hosts may say something else, and whether they do."""
    tally = tally_of(draft.realm, name, words)
    news = False
    for id in ids:
        host = draft.hosts.get(id)
        news |= tally.set(id, words(host) if host is not None else ())
    return tally, news
