# SPDX-License-Identifier: Apache-2.0
"""What somebody can choose before a host whose medium knows no site."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_interface
from typing import Final

from muster.agent.meeting.choice import Kind, Standing, Want
from muster.console.facts import Facts
from muster.console.main_screen import render_found, usable_links
from muster.frozen import dataclass
from muster.model.meeting import JOIN_PORT

_INSTALLER: Final = "install-notice"


@dataclass(frozen=True)
class Item:
    """One of the things that can be chosen."""

    want: Want
    text: str
    ip: str = ""
    port: int = JOIN_PORT
    authority: str = ""
    letter: str = ""
    """The key that takes it, whatever else there is; others are taken by their number."""

    @property
    def key(self) -> tuple[str, ...]:
        """What it is, whatever else is in the menu."""
        return self.want, self.ip, self.authority


def menu_of(facts: Facts) -> list[Item]:
    """All that can be chosen now; addresses and hosts that appear later are there then."""
    choice = facts.choice
    if choice is None:
        return []
    items = list(_places(facts))
    items += [
        Item(Want.JOIN, f"Join {render_found(each)}", each.ip, each.port, each.authority)
        for each in choice.found
    ]
    items.append(Item(Want.JOIN, "Join a rendezvous host by its address", letter="j"))
    if not choice.is_open:
        items.append(Item(Want.LEAVE, "Start over: forget what was chosen", letter="x"))
    return items


def _places(facts: Facts) -> Iterator[Item]:
    for link in usable_links(facts.links):
        for each in link.addresses:
            ip = ip_interface(each).ip
            if not ip.is_link_local:
                yield Item(Want.HERE, f"This is the rendezvous host, at {ip} ({link.name})", str(ip))


def questions_of(item: Item, facts: Facts) -> list[str]:
    """What somebody is told before it happens; nothing when there is nothing to lose."""
    standing = facts.choice.standing if facts.choice else Standing()
    texts = []
    if item.want is Want.HERE:
        texts.append(
            f"The hosts will meet here, at {item.ip}: the service and its web page run on this host, and it"
            " is installed as the last one. It shows a code that the other hosts join it with."
        )
    if item.want is Want.LEAVE:
        texts.append("This host forgets where the hosts meet, and asks again.")
    if standing.kind is Kind.HERE:
        texts.append(
            "The service on this host ends, and what was entered on its web page is lost. All hosts that"
            " joined it have to join anew."
        )
    if standing.kind is not Kind.OPEN and any(each.program == _INSTALLER for each in facts.boards):
        texts.append("This host is being installed. That is stopped, and its disk is left as it is then.")
    return [*texts, "Go on?"] if texts else []
