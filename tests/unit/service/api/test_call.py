# SPDX-License-Identifier: Apache-2.0
"""Bodies of requests: whatever comes is decoded, or refused in words."""

from __future__ import annotations

from typing import Any

import pytest

from muster.model.wire.reports import StepReply
from muster.service.api.call import Call
from muster.service.refusals import BadRequest


def call(body: bytes) -> Call:
    service: Any = None
    return Call(service, {}, {}, {}, body, None)


def test_a_body_becomes_what_it_has_to_be() -> None:
    assert call(b'{"step_type":"inventory"}').decode(StepReply).step_type == "inventory"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b'{"x":' + b"[" * 100_000, "nested too deeply"),
        (b'{"x":' + b'{"x":' * 100_000, "nested too deeply"),
        (b'{"output":[]}', "not as it should be"),
        (b'{"output":"\xff"}', "not JSON"),
        (b"{", "not JSON"),
    ],
)
def test_what_cannot_be_decoded_is_refused(body: bytes, why: str) -> None:
    with pytest.raises(BadRequest, match=why):
        call(body).decode(StepReply)
