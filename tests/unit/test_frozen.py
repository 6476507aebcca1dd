# SPDX-License-Identifier: Apache-2.0
"""Our frozen dataclasses behave like those of the standard library."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import field
from typing import Any

import pytest

from muster import frozen


def build(decorate: Callable[..., Any]) -> Any:
    class Base:
        def area(self) -> int:
            return 7

    class Thing(Base):
        """A thing."""

        name: str
        size: int = 3
        parts: dict[str, int] = field(default_factory=dict)
        secret: str = field(default="", repr=False)
        place: str = field(default="", compare=False)

        def __post_init__(self) -> None:
            if self.size < 0:
                raise ValueError("too small")

    return decorate(frozen=True)(Thing)


BOTH = [build(frozen.dataclass), build(dataclasses.dataclass)]


@pytest.mark.parametrize("thing", BOTH, ids=["ours", "theirs"])
def test_they_behave_the_same(thing: Any) -> None:
    one = thing("a", 4, secret="s", place="here")
    assert (one.name, one.size, one.parts, one.secret) == ("a", 4, {}, "s")
    assert repr(one).endswith("Thing(name='a', size=4, parts={}, place='here')")
    assert one == thing("a", 4, {}, "s", "there")
    assert one != thing("a", 5, {}, "s")
    assert one != "a"
    assert thing("a").parts is not thing("a").parts
    assert dataclasses.replace(one, size=9).size == 9
    assert [each.name for each in dataclasses.fields(one)] == ["name", "size", "parts", "secret", "place"]
    assert dataclasses.asdict(one)["name"] == "a"
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.name = "b"
    with pytest.raises(dataclasses.FrozenInstanceError):
        del one.name
    with pytest.raises(ValueError, match="too small"):
        thing("a", -1)
    match one:
        case thing(name, 4):
            assert name == "a"
        case _:
            pytest.fail("positions do not match")


@pytest.mark.parametrize("thing", BOTH, ids=["ours", "theirs"])
@pytest.mark.parametrize(
    ("args", "values"),
    [((), {}), (("a", 1, {}, "", "", "more"), {}), (("a",), {"name": "b"}), (("a",), {"colour": 1})],
)
def test_wrong_values_are_refused(thing: Any, args: tuple[Any, ...], values: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        thing(*args, **values)


@pytest.mark.parametrize("decorate", [frozen.dataclass, dataclasses.dataclass], ids=["ours", "theirs"])
def test_a_class_below_another_has_the_fields_of_both(decorate: Any) -> None:
    class First:
        a: int
        b: int = 2

    class Second(decorate(frozen=True)(First)):  # type: ignore[misc]
        c: int = 3

    both = decorate(frozen=True)(Second)
    made = both(1, c=5)
    assert (made.a, made.b, made.c) == (1, 2, 5)
    assert len({made, both(1, 2, 5), both(1)}) == 2
