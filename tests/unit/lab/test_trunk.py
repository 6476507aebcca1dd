# SPDX-License-Identifier: Apache-2.0
"""VLAN tags are added and taken, and each frame goes where it belongs."""

from __future__ import annotations

import pytest

from muster.lab.relay import forwarders
from muster.lab.trunk import (
    Trunk,
    add_tag,
    describe_relay,
    render_kernel_links,
    render_relay_links,
    take_tag,
)

HEAD = bytes(range(12))
FRAME = HEAD + b"\x08\x00" + b"content"
TRUNK = Trunk("br0", (20, 4094))


def test_a_tag_is_added_and_taken() -> None:
    tagged = add_tag(FRAME, 4094)
    assert tagged == HEAD + b"\x81\x00\x0f\xfe\x08\x00content"
    assert take_tag(tagged) == (4094, FRAME)


def test_priority_is_not_taken_for_a_vlan() -> None:
    assert take_tag(HEAD + b"\x81\x00\xe0\x14\x08\x00content") == (20, FRAME)


@pytest.mark.parametrize("frame", [FRAME, b"", HEAD + b"\x81\x00\x00"])
def test_what_has_no_tag_has_none(frame: bytes) -> None:
    assert take_tag(frame) is None


def test_frames_go_where_they_belong() -> None:
    sent: list[tuple[int, bytes]] = []
    forward = forwarders(3, {20: 4, 30: 5}, lambda tap, frame: sent.append((tap, frame)))
    forward[3](add_tag(FRAME, 30))
    forward[4](FRAME)
    forward[3](add_tag(FRAME, 40))
    forward[3](FRAME)
    assert sent == [(5, FRAME), (3, add_tag(FRAME, 20))]


def test_both_ways_make_links_of_the_same_names() -> None:
    kernel, relay = list(render_kernel_links(TRUNK)), list(render_relay_links(TRUNK))
    assert "link add link br0 name br0.20 type vlan id 20" in kernel
    assert "tuntap add dev br0.4094 mode tap" in relay
    assert relay[-1] == "link set br0-trunk master br0"
    assert {line for line in kernel if " set " in line} <= set(relay)
    assert describe_relay(TRUNK).argv[-3:] == ("br0-trunk", "20=br0.20", "4094=br0.4094")


def test_names_fit_the_kernel() -> None:
    with pytest.raises(ValueError, match="too long"):
        Trunk("a-long-bridge", (20,))
