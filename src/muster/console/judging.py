# SPDX-License-Identifier: Apache-2.0
"""Whether a change of the network made things better or worse."""

from __future__ import annotations

from enum import StrEnum
from ipaddress import ip_interface

from muster.console.facts import Facts
from muster.frozen import dataclass


@dataclass(frozen=True)
class Reach:
    """What a host reaches."""

    answers: bool
    """Whether the service on the rendezvous host answers."""
    has_address: bool
    """Whether the host has any address that counts beyond one link."""


class Verdict(StrEnum):
    """What came of a change."""

    BETTER = "better"
    SAME = "same"
    WORSE = "worse"


def reach_of(facts: Facts) -> Reach:
    """What a host reaches at this moment."""
    addresses = [ip_interface(each) for link in facts.links for each in link.addresses]
    return Reach(facts.answers, any(not each.is_link_local for each in addresses))


def judge(before: Reach, after: Reach) -> Verdict:
    """The service counts most: without it nothing goes on."""
    for was, is_now in ((before.answers, after.answers), (before.has_address, after.has_address)):
        if was != is_now:
            return Verdict.BETTER if is_now else Verdict.WORSE
    return Verdict.SAME


def may_keep(before: Reach, after: Reach) -> bool:
    """Whether a change may be kept: what worked before still has to work."""
    return judge(before, after) is not Verdict.WORSE
