# SPDX-License-Identifier: Apache-2.0
"""Bytes in flight are bounded, in total and for each network; the rest waits its turn."""

from __future__ import annotations

import asyncio

import pytest

from muster.service.edge.budget import Budget, NoRoom
from muster.serving.connections import Room


async def settle() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


async def test_never_more_than_there_is_room_for() -> None:
    budget, most, served = Budget(Room(each=40, all=100), most_waiting=1000), 0, []

    async def one(network: str, amount: int) -> None:
        nonlocal most
        taken = await budget.take(network, amount)
        most = max(most, budget.total)
        served.append(network)
        await asyncio.sleep(0)
        budget.give_back(network, taken)

    await asyncio.gather(*(one(f"n{each % 7}", 1 + each % 40) for each in range(500)))
    assert len(served) == 500
    assert most <= 100
    assert budget.total == 0
    assert budget._used == {}


async def test_a_network_with_all_of_its_share_does_not_hold_up_others() -> None:
    budget = Budget(Room(each=40, all=100))
    await budget.take("a", 40)
    waiting = asyncio.ensure_future(budget.take("a", 40))
    await settle()
    assert await budget.take("b", 40) == 40
    assert not waiting.done()
    budget.give_back("a", 40)
    assert await waiting == 40


async def test_small_ones_do_not_starve_a_large_one() -> None:
    budget = Budget(Room(each=100, all=100))
    await budget.take("a", 60)
    large = asyncio.ensure_future(budget.take("b", 100))
    await settle()
    small = asyncio.ensure_future(budget.take("c", 1))
    await settle()
    assert not small.done(), "it came later"
    budget.give_back("a", 60)
    assert await large == 100
    budget.give_back("b", 100)
    assert await small == 1


async def test_the_queue_is_bounded() -> None:
    budget = Budget(Room(each=10, all=10), most_waiting=2)
    await budget.take("a", 10)
    waiting = [asyncio.ensure_future(budget.take("a", 1)) for _ in range(2)]
    await settle()
    with pytest.raises(NoRoom):
        await budget.take("a", 1)
    for each in waiting:
        each.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    budget.give_back("a", 10)
    assert await budget.take("a", 10) == 10


async def test_holders_that_wait_take_turns() -> None:
    budget, served = Budget(Room(each=10, all=10)), list[str]()
    await budget.take("first", 10)

    async def one(holder: str) -> None:
        taken = await budget.take(holder, 10)
        served.append(holder)
        budget.give_back(holder, taken)

    waiting = [asyncio.ensure_future(one("crowd")) for _ in range(100)]
    await settle()
    waiting.append(asyncio.ensure_future(one("late")))
    await settle()
    budget.give_back("first", 10)
    await asyncio.gather(*waiting)
    assert served.index("late") <= 1, "one request of each holder in turns"
    assert (budget.total, budget.waiting, budget._queues, budget._turns) == (0, 0, {}, {})


async def test_who_goes_away_with_what_they_were_given_gives_it_back() -> None:
    budget = Budget(Room(each=10, all=10))
    await budget.take("a", 10)
    waiting = asyncio.ensure_future(budget.take("a", 10))
    await settle()
    budget.give_back("a", 10)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert budget.total == 0


async def test_a_caller_that_leaves_as_room_becomes_free_gives_back_nothing() -> None:
    budget = Budget(Room(each=10, all=10))
    await budget.take("a", 10)
    waiting = asyncio.ensure_future(budget.take("a", 10))
    await settle()
    waiting.cancel()
    budget.give_back("a", 10)
    await asyncio.gather(waiting, return_exceptions=True)
    assert (budget.total, budget._used) == (0, {})
