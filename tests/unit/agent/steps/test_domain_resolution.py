# SPDX-License-Identifier: Apache-2.0
"""Names: what they lead to, and why they lead nowhere."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence

import pytest

from muster.agent.steps.domain_resolution import Answer, run
from muster.agent.steps.outcome import BadArguments
from tests.unit.agent.steps.recorded import Recorded, finish

FOUND = {
    "api.example.com": [("api.example.com", "10.0.0.2"), ("", "10.0.0.1"), ("", "10.0.0.1"), ("", "fd00::1")],
    "Alias.example.com.": [("real.example.com.", "10.0.0.3")],
}
FAILING = {
    "no.example.com": socket.EAI_NONAME,
    "empty.example.com": getattr(socket, "EAI_NODATA", socket.EAI_NONAME),
    "later.example.com": socket.EAI_AGAIN,
    "broken.example.com": socket.EAI_FAIL,
}


async def resolve(name: str) -> Sequence[Answer]:
    if name in FAILING:
        raise socket.gaierror(FAILING[name], "Non-recoverable failure")
    if name not in FOUND:
        raise UnicodeError("label too long")
    return FOUND[name]


def ask(*names: str) -> tuple[list[dict[str, object]], str]:
    argument = json.dumps({"domains": [{"domain_name": name} for name in names]})
    done = finish(run(Recorded({}), [argument], resolve=resolve))
    assert done.exit_code == 0
    return json.loads(done.output)["resolutions"], done.error


def test_addresses_in_order_and_aliases() -> None:
    found, error = ask("api.example.com", "Alias.example.com.", "api.example.com")
    assert found == [
        {
            "domain_name": "api.example.com",
            "ipv4_addresses": ["10.0.0.1", "10.0.0.2"],
            "ipv6_addresses": ["fd00::1"],
            "cnames": [],
        },
        {
            "domain_name": "Alias.example.com.",
            "ipv4_addresses": ["10.0.0.3"],
            "ipv6_addresses": [],
            "cnames": ["real.example.com"],
        },
    ]
    assert error == ""


def test_kinds_of_failure_differ() -> None:
    found, error = ask(*FAILING, "api.example.com", "x" * 70)
    assert [bool(each["ipv4_addresses"]) for each in found] == [False] * 4 + [True, False]
    assert error.splitlines() == [
        "no.example.com: there is no such name",
        "empty.example.com: there is no such name",
        "later.example.com: the name servers cannot be reached, or they failed",
        "broken.example.com: non-recoverable failure",
        f"{'x' * 70}: this cannot be a name",
    ]


@pytest.mark.parametrize(
    "argument", ["{}", '{"domains": [{}]}', '{"domains": [5]}', '{"domains": [{"domain_name": ""}]}']
)
def test_bad_arguments(argument: str) -> None:
    with pytest.raises(BadArguments):
        finish(run(Recorded({}), [argument], resolve=resolve))
