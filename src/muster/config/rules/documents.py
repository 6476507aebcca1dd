# SPDX-License-Identifier: Apache-2.0
"""The NMState documents of a site, whichever file they stand in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from muster.config import links
from muster.config.network import bind_network
from muster.model.host import Interface as Card
from muster.model.nmstate import Interface, NMState
from muster.model.site import Site, SiteHost
from muster.model.tree import Map


class Document(NamedTuple):
    """A network, and the host that it belongs to if one is described."""

    network: NMState
    host: SiteHost | None = None

    @property
    def cards(self) -> dict[str, Card]:
        """The host's cards by the names that the user gave to them; the first of those with the same."""
        found: dict[str, Card] = {}
        for card in self.host.host.interfaces if self.host else ():
            if card.name and card.has("name"):
                found.setdefault(card.name, card)
        return found

    @property
    def misspelt(self) -> dict[str, Interface]:
        """Entries whose name is a slip, by their right names."""
        return links.misspelt_entries(self.network, self.cards)

    @property
    def names(self) -> list[str]:
        """Names of interfaces that the document sets up, and of cards."""
        return list(dict.fromkeys((*self.network.interface_names(), *self.cards)))


def documents(site: Site) -> Iterator[Document]:
    """The networks of the hosts, and those of a single node that is copied from a seed."""
    for host in site.hosts:
        if host.network is not None:
            yield Document(host.network, host)
    for config in (site.image_based_installation, site.image_based):
        if config is not None and isinstance(config.network_config, Map):
            network = bind_network(config.network_config)
            if network is not None:
                yield Document(network)
