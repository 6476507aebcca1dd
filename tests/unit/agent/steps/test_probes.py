# SPDX-License-Identifier: Apache-2.0
"""What ping, arping and ndisc6 say, as it was recorded."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from muster.agent.steps.probes import (
    NotTested,
    Pinged,
    find_macs,
    is_answering,
    parse_arping,
    parse_ndisc,
    parse_ping,
    ping,
)
from muster.run import Said
from tests.unit.agent.steps.recorded import Recorded, finish, good

PING = """\
PING 10.9.0.2 (10.9.0.2) 56(84) bytes of data.

--- 10.9.0.2 ping statistics ---
10 packets transmitted, 9 received, 10% packet loss, time 1840ms
rtt min/avg/max/mdev = 0.037/0.099/0.566/0.155 ms
"""
SILENT = """\
PING 10.9.0.3 (10.9.0.3) 56(84) bytes of data.

--- 10.9.0.3 ping statistics ---
10 packets transmitted, 0 received, +10 errors, 100% packet loss, time 1841ms
pipe 10
"""
ARPING = """\
ARPING 10.9.0.2 from 10.9.0.1 eth0
Unicast reply from 10.9.0.2 [1E:13:D3:BB:4D:09]  0.579ms
Unicast reply from 10.9.0.2 [1E:13:D3:BB:4D:0A]  0.601ms
Unicast reply from 10.9.0.2 [1E:13:D3:BB:4D:09]  0.543ms
Sent 2 probes (2 broadcast(s))
Received 3 response(s)
"""
FOUR, SIX = ip_address("10.9.0.2"), ip_address("fd00:9::2")


@pytest.mark.parametrize(
    ("out", "pinged"),
    [
        (PING, Pinged(10, 0.099)),
        (SILENT, Pinged(100)),
        ("", Pinged(100)),
        (PING.replace("10%", "33.3333%"), Pinged(33.3333, 0.099)),
        (PING.replace("9 received", "9 received, +2 duplicates"), Pinged(10, 0.099)),
    ],
)
def test_ping(out: str, pinged: Pinged) -> None:
    assert parse_ping(out) == pinged


def test_answered_or_not() -> None:
    assert parse_ping(PING).is_answered
    assert not parse_ping(SILENT).is_answered


def test_each_mac_once() -> None:
    assert parse_arping(ARPING) == ("1e:13:d3:bb:4d:09", "1e:13:d3:bb:4d:0a")
    assert parse_arping("Sent 2 probes (2 broadcast(s))\nReceived 0 response(s)\n") == ()
    assert parse_ndisc("1E:13:D3:BB:4D:09\n1E:13:D3:BB:4D:9\n") == ("1e:13:d3:bb:4d:09",)
    assert parse_ndisc("No response.\n") == ()


def test_a_network_that_cannot_be_reached_lost_all() -> None:
    unreachable = Said(2, "", "ping: connect: Network is unreachable")
    assert finish(ping(Recorded({"ping": unreachable}), FOUR)) == Pinged(100)


def test_enough_packets_to_see_a_loss_of_ten_percent() -> None:
    machine = Recorded({"ping": good(PING)})
    finish(ping(machine, FOUR))
    assert "-c 10 " in machine.asked[0]
    assert machine.asked[0].endswith(" 10.9.0.2")


@pytest.mark.parametrize("status", [124, 127])
def test_what_never_ran_says_nothing(status: int) -> None:
    said = Said(status, "", "the program is not there")
    machine = Recorded({"ping": said, "arping": said, "ndisc6": said})
    for work in (
        ping(machine, FOUR),
        is_answering(machine, FOUR),
        find_macs(machine, "eth0", FOUR, FOUR),
        find_macs(machine, "eth0", SIX, SIX),
    ):
        with pytest.raises(NotTested, match="the program is not there"):
            finish(work)


def test_silence_on_the_link_is_an_answer_but_trouble_is_none() -> None:
    quiet = Recorded({"arping": Said(1, "", ""), "ndisc6": Said(2, "", "")})
    assert finish(find_macs(quiet, "eth0", FOUR, FOUR)) == ()
    assert finish(find_macs(quiet, "eth0", SIX, SIX)) == ()
    broken = Recorded(
        {"arping": Said(2, "", "arping: Device eth0 not available."), "ndisc6": Said(1, "", "x")}
    )
    for address in (FOUR, SIX):
        with pytest.raises(NotTested):
            finish(find_macs(broken, "eth0", address, address))


def test_a_conflict_is_not_hidden_by_the_first_answer() -> None:
    machine = Recorded({"arping": good(ARPING), "ndisc6": good("1E:13:D3:BB:4D:09\n")})
    assert len(finish(find_macs(machine, "eth0", FOUR, FOUR))) == 2
    finish(find_macs(machine, "eth0", SIX, SIX))
    arping, ndisc = (line.split() for line in machine.asked)
    assert "-b" in arping
    assert "-f" not in arping
    assert "-m" in ndisc
