# SPDX-License-Identifier: Apache-2.0
"""Password checks under load: one at a time, a bounded queue, and the owner is not kept out."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from muster.service.auth import attempts
from muster.service.auth.attempts import Turns
from muster.service.auth.keys import load_key_ring
from muster.service.auth.login import Login, LoginSettings, Proof, Refused, Session
from muster.service.auth.passwords import hash_password
from muster.service.auth.tokens import Tokens
from tests.unit.service.auth.ties import repeatable

NOW = 1_800_000_000.0
HOME = "192.0.2.1"


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens(load_key_ring(tmp_path, repeatable("keys")))


class Checks:
    """Password checks that end when a test says so."""

    def __init__(self) -> None:
        self.running = 0
        self.most = 0
        self.done = 0
        self.go = asyncio.Event()

    async def __call__(self, password: str, _hash: str) -> bool:
        self.running += 1
        self.most = max(self.most, self.running)
        await self.go.wait()
        self.running -= 1
        self.done += 1
        return password == "right"


def with_password(tokens: Tokens, checks: Checks) -> Login:
    hashed = hash_password("right", repeatable("x"))
    return Login(LoginSettings(hashed), tokens, repeatable("x"), checks)


async def test_the_owner_logs_in_at_the_first_try_while_ten_thousand_addresses_guess_passwords(
    tokens: Tokens,
) -> None:
    checks = Checks()
    login = with_password(tokens, checks)
    strangers = [
        asyncio.ensure_future(login.log_in(f"198.18.{each >> 8}.{each & 255}", Proof(password="wrong"), NOW))
        for each in range(10_000)
    ]
    await asyncio.sleep(0)
    owner = asyncio.ensure_future(login.log_in(HOME, Proof(password="right"), NOW))
    await asyncio.sleep(0)
    assert sum(not each.done() for each in strangers) <= attempts.MAX_WAITING + 1, "the queue is bounded"
    checks.go.set()
    assert isinstance(await owner, Session)
    assert checks.done <= 5, "the owner does not wait for all strangers"
    answers = [each for each in await asyncio.gather(*strangers) if isinstance(each, Refused)]
    assert len(answers) == 10_000
    assert {each.status for each in answers} == {401, 503}
    assert all(each.retry_after_s for each in answers if each.status == 503)
    assert checks.most == 1, "one at a time"
    again = await login.log_in("198.18.39.15", Proof(password="right"), NOW)
    assert isinstance(again, Session), "who was not checked was not counted"


async def test_strangers_from_more_regions_than_there_are_places_block_nothing(tokens: Tokens) -> None:
    checks = Checks()
    login = with_password(tokens, checks)
    strangers = [
        asyncio.ensure_future(login.log_in(f"10.{each}.0.1", Proof(password="wrong"), NOW))
        for each in range(2 * attempts.MAX_WAITING)
    ]
    await asyncio.sleep(0)
    assert login.code is not None
    by_code = await login.log_in(HOME, Proof(code=login.code.show(NOW)), NOW)
    assert isinstance(by_code, Session), "a code does not wait for passwords"
    owner = asyncio.ensure_future(login.log_in(HOME, Proof(password="right"), NOW))
    await asyncio.sleep(0)
    checks.go.set()
    answers = [each for each in await asyncio.gather(*strangers) if isinstance(each, Refused)]
    assert {each.status for each in answers} == {401, 503}
    assert len(answers) == len(strangers)
    assert isinstance(await owner, Session), "a network that logged in before has a place of its own"
    assert isinstance(await login.log_in("198.51.100.1", Proof(password="right"), NOW), Session)


async def test_networks_that_logged_in_before_go_first(tokens: Tokens) -> None:
    checks = Checks()
    checks.go.set()
    login = with_password(tokens, checks)
    assert isinstance(await login.log_in("198.18.0.1", Proof(password="right"), NOW), Session)
    checks.go.clear()
    strangers = [
        asyncio.ensure_future(login.log_in(f"198.18.1.{each}", Proof(password="wrong"), NOW))
        for each in range(200)
    ]
    await asyncio.sleep(0)
    owner = asyncio.ensure_future(login.log_in("198.18.0.1", Proof(password="right"), NOW))
    await asyncio.sleep(0)
    checks.go.set()
    assert isinstance(await owner, Session)
    assert checks.done <= 5
    await asyncio.gather(*strangers)


async def test_who_goes_away_while_waiting_leaves_the_queue() -> None:
    turns = Turns(2)
    assert await turns.wait(HOME)
    first, second = (asyncio.ensure_future(turns.wait(HOME)) for _ in range(2))
    await asyncio.sleep(0)
    assert not await turns.wait(HOME), "full"
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    turns.end()
    assert await second
    third = asyncio.ensure_future(turns.wait(HOME))
    await asyncio.sleep(0)
    turns.end()
    third.cancel()
    await asyncio.gather(third, return_exceptions=True)
    assert await turns.wait(HOME), "a turn that came too late is passed on"
    turns.end()
