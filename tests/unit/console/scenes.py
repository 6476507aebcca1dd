# SPDX-License-Identifier: Apache-2.0
"""What consoles may know."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from ipaddress import ip_address
from typing import Any

from muster.board import Notice
from muster.client.snapshot import ServiceSight, Why
from muster.console.facts import Facts, HostFacts, Link, Posted
from muster.model.meeting import Meeting
from muster.model.service_card import LoginCode
from tests.unit.client.sights import NOON, cluster, host, reason, verdicts

IPV6 = "fd00:1234:5678:9abc:def0:1234:5678:9abc/64"
CODE = LoginCode("8QK2M 7WXNB", NOON + timedelta(minutes=9))
ETH0 = Link("eth0", True, ("192.0.2.10/24", "fe80::1/64"), "52:54:00:00:00:01")
ETH1 = Link("eth1", False, (), "52:54:00:00:00:02")


def facts(**changed: Any) -> Facts:
    """The rendezvous host of a site, when all is well."""
    known = changed.pop("known", ServiceSight(at=NOON, cluster=cluster("ready", (host("m-0"),)), why=Why()))
    plain = Facts(
        host=HostFacts("m-0", "Dell Inc. PowerEdge R650", "ABC123", 32, 128 << 30),
        boards=(Posted("agent", Notice("waiting for instructions", NOON)),),
        links=(ETH0, ETH1),
        has_links=True,
        meeting=Meeting(ip_address("192.0.2.10"), "c", "i"),
        sight=known,
        known=known,
        code=CODE,
    )
    return replace(plain, **changed)


def failing(count: int = 1, names: tuple[str, ...] = ("m-0", "m-1")) -> ServiceSight:
    """A cluster whose hosts fail some checks."""
    broken = verdicts(**{f"check_{number}": "it is not as it should be" for number in range(count)})
    hosts = tuple(host(name, "insufficient", validations_info=broken) for name in names)
    why = "Without it nothing works."
    fix = "Mend it with the right tool, and wait."
    reasons = tuple(reason(f"check-{number}", *names, why=why, fix=fix) for number in range(count))
    return ServiceSight(at=NOON, cluster=cluster("insufficient", hosts), why=Why(reasons=reasons))
