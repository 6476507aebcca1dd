# SPDX-License-Identifier: Apache-2.0
"""Which addresses a machine has."""

from __future__ import annotations

import json
from ipaddress import ip_address

import pytest

from muster.links import parse_addresses

LINKS = [
    {"ifname": "lo", "addr_info": [{"local": "127.0.0.1"}, {"local": "::1"}]},
    {"ifname": "eth0", "addr_info": [{"local": "192.0.2.10", "prefixlen": 24}, {"local": "fe80::1"}]},
    {
        "ifname": "eth1",
        "addr_info": [{"local": "2001:db8::10"}, {"local": "2001:db8::99", "tentative": True}],
    },
    {"ifname": "eth2"},
]


def test_what_counts_everywhere_is_found() -> None:
    assert parse_addresses(json.dumps(LINKS)) == (ip_address("192.0.2.10"), ip_address("2001:db8::10"))


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", '[{"addr_info": [{"local": "no"}]}]', '[{"addr_info": 3}]']
)
def test_what_cannot_be_read_is_nothing(text: str) -> None:
    assert parse_addresses(text) == ()


def test_an_address_that_another_machine_has_is_not_ours() -> None:
    infos = [{"local": "2001:db8::10", "dadfailed": True, "tentative": True}, {"local": "192.0.2.10"}]
    text = json.dumps([{"ifname": "eth0", "addr_info": infos}])
    assert parse_addresses(text) == (ip_address("192.0.2.10"),)
    assert parse_addresses(text, taken=True) == (ip_address("2001:db8::10"),)
