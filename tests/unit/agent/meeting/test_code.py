# SPDX-License-Identifier: Apache-2.0
"""The join code: how people may type it, and what is proven with it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from muster.agent.meeting.code import (
    ALPHABET,
    LENGTH,
    derive_key,
    is_proven,
    make_code,
    parse_code,
    prove,
    render_code,
)

KEY = derive_key("K7QM3XHDP2", b"an authority")


def test_it_uses_all_of_the_chance_that_it_has_room_for() -> None:
    assert make_code(lambda count: b"\xff" * count) == ALPHABET[-1] * LENGTH
    assert make_code(bytes) == "0" * LENGTH

    def one_bit(bit: int) -> Callable[[int], bytes]:
        return lambda count: (1 << bit).to_bytes(count, "big")

    assert len({make_code(one_bit(bit)) for bit in range(50)}) == 50


@pytest.mark.parametrize("text", ["K7QM3-XHDP2", "k7qm3xhdp2", " k7qm3 - xhdp2 ", "K7QM3XHDP2"])
def test_it_can_be_typed_in_many_ways(text: str) -> None:
    assert parse_code(text) == "K7QM3XHDP2"


def test_letters_that_look_like_digits_are_these() -> None:
    assert parse_code("oil00-00000") == "0110000000"


@pytest.mark.parametrize("text", ["", "K7QM3", "K7QM3-XHDP2A", "K7QM3-XHDPU", "K7QM3-XHDP!", "Ⅷ7QM3-XHDP2"])
def test_anything_else_is_none(text: str) -> None:
    assert parse_code(text) is None


def test_it_is_shown_in_two_groups() -> None:
    assert render_code("K7QM3XHDP2") == "K7QM3-XHDP2"
    assert parse_code(render_code("K7QM3XHDP2")) == "K7QM3XHDP2"


def test_who_has_it_proves_it_for_one_purpose_and_one_authority() -> None:
    proof = prove(KEY, "join")
    assert is_proven(KEY, "join", proof)
    assert not is_proven(KEY, "hello", proof)
    assert not is_proven(derive_key("K7QM3XHDP2", b"another authority"), "join", proof)
    assert not is_proven(derive_key("K7QM3XHDP3", b"an authority"), "join", proof)


@pytest.mark.parametrize("proof", ["", "0", "é" * 64, "0" * 64])
def test_nonsense_proves_nothing(proof: str) -> None:
    assert not is_proven(KEY, "join", proof)
