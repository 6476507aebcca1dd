# SPDX-License-Identifier: Apache-2.0
"""Where hosts meet, written on a medium and read again."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from muster.model.meeting import Meeting, parse_environment, parse_meeting, render_environment

VALUES = {
    "NODE_ZERO_IP": "2001:db8::10",
    "CLUSTER_ID": "c",
    "INFRA_ENV_ID": "i",
    "SERVICE_BASE_URL": "https://x/?a=b",
}


def test_what_is_written_is_read_again() -> None:
    text = render_environment(VALUES)
    assert parse_environment(text) == VALUES
    meeting = parse_meeting(text)
    assert meeting == Meeting(ip_address("2001:db8::10"), "c", "i")
    assert meeting.url == "https://[2001:db8::10]:8090"


@pytest.mark.parametrize(
    "text", ["", "NODE_ZERO_IP=\n", "NODE_ZERO_IP=300.1.1.1\nCLUSTER_ID=c\nINFRA_ENV_ID=i\n", "x"]
)
def test_a_medium_that_does_not_say_where_is_none(text: str) -> None:
    assert parse_meeting(text) is None
