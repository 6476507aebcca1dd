# SPDX-License-Identifier: Apache-2.0
"""What the service computes beside its answers, within bounds."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from muster.service.background import Computations, LoopBackground
from muster.service.refusals import Unavailable


def test_computations_for_requests_are_few_and_the_rest_is_refused() -> None:
    async def scene() -> None:
        go_on, computations = threading.Event(), Computations(workers=2, waiting=3)
        running = [asyncio.ensure_future(computations.run(go_on.wait)) for _ in range(5)]
        await asyncio.sleep(0)
        with pytest.raises(Unavailable, match="too much is being computed"):
            await computations.run(go_on.wait)
        go_on.set()
        assert await asyncio.gather(*running) == [True] * 5
        assert await computations.run(lambda: 7) == 7
        computations.close()

    asyncio.run(scene())


def test_a_computation_that_takes_too_long_is_answered_and_keeps_its_place() -> None:
    async def scene() -> None:
        go_on, computations = threading.Event(), Computations(workers=1, waiting=0, seconds=0.01)
        with pytest.raises(Unavailable, match=r"more than 0\.01 s"):
            await computations.run(go_on.wait)
        with pytest.raises(Unavailable, match="too much is being computed"):
            await computations.run(lambda: 7)
        go_on.set()
        async with asyncio.timeout(10):
            while True:
                try:
                    assert await computations.run(lambda: 7) == 7
                    break
                except Unavailable:
                    await asyncio.sleep(0)
        computations.close()

    asyncio.run(scene())


def test_a_time_that_ran_out_inside_is_an_error_of_its_own() -> None:
    async def scene() -> None:
        def fail() -> None:
            raise TimeoutError("inside")

        with pytest.raises(TimeoutError, match="inside"):
            await Computations().run(fail)

    asyncio.run(scene())


def test_what_requests_compute_does_not_hold_up_passwords_and_disks() -> None:
    """All threads that requests may have are busy, and there is still one for everything else."""

    async def scene() -> None:
        go_on, background = threading.Event(), LoopBackground()
        waiting: list[Callable[[], object]] = [go_on.wait] * 10
        busy = [asyncio.ensure_future(background.compute_answer(each)) for each in waiting]
        await asyncio.sleep(0)
        async with asyncio.timeout(10):
            assert await asyncio.to_thread(lambda: "a password") == "a password"
            assert await background.fetch(lambda: "a disk") == "a disk"
            assert await background.compute(lambda: "files") == "files"
        go_on.set()
        await asyncio.gather(*busy)
        names = {await background.compute_answer(lambda: threading.current_thread().name)}
        assert all(name.startswith("compute-answer") for name in names)
        await background.end()
        assert await background.compute_answer(lambda: 1) == 1, "a request that ends late"
        await background.end()

    asyncio.run(scene())
