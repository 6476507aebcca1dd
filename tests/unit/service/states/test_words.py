# SPDX-License-Identifier: Apache-2.0
"""What states say of themselves."""

from __future__ import annotations

from muster.service.state import Verdict
from muster.service.states.words import missing


def _failing(id: str, message: str) -> Verdict:
    return Verdict(id=id, status="failure", message=message)


def test_what_several_checks_say_is_said_once() -> None:
    verdicts = [_failing("a", "no host yet"), _failing("b", "no host yet"), _failing("c", "no name")]

    assert missing(verdicts, ("a", "b", "c")) == "no host yet; no name"


def test_only_the_first_are_told_and_the_rest_is_counted() -> None:
    verdicts = [_failing(str(number), f"reason {number}") for number in range(5)]

    assert missing(verdicts, tuple("01234")) == "reason 0; reason 1; reason 2; and 2 more"
