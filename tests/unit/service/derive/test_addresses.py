# SPDX-License-Identifier: Apache-2.0
"""Addresses and the subnets that they are in."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from hypothesis import given
from hypothesis import strategies as st

from muster.service.derive.addresses import SubnetIndex, is_inside, parse_address

_LOW = st.integers(0, 255)
SUBNETS = st.one_of(
    st.builds(lambda at, bits: str(IPv4Network((at << 24, bits), strict=False)), _LOW, st.integers(0, 32)),
    st.builds(lambda at, bits: str(IPv4Network((at, bits), strict=False)), _LOW, st.integers(20, 32)),
    st.builds(lambda at, bits: str(IPv6Network((at, bits), strict=False)), _LOW, st.integers(110, 128)),
    st.sampled_from(["0.0.0.0/0", "::/0", "", "nonsense"]),
)
ADDRESSES = st.one_of(
    _LOW.map(lambda at: str(IPv4Address(at << 24))),
    _LOW.map(lambda at: str(IPv4Address(at))),
    _LOW.map(lambda at: str(IPv6Address(at))),
    st.sampled_from(["255.255.255.255", "ffff::", "", "nonsense"]),
)


@given(st.lists(SUBNETS, max_size=12), ADDRESSES)
def test_an_index_finds_the_first_subnet_that_an_address_is_in(subnets: list[str], address: str) -> None:
    first = next((each for each in subnets if is_inside(address, each)), "")
    assert SubnetIndex(subnets).find(*parse_address(address)) == first
