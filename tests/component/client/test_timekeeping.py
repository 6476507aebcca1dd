# SPDX-License-Identifier: Apache-2.0
"""A host whose clock is absurd reaches its service, takes its time, and believes nobody else. Over real TLS.

The clock of this machine is never touched: hosts have clocks of their own. What OpenSSL looks at is the time
of this machine, so certificates are of the past or of the future instead.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from muster.certificates.issue import SERVER, Authority, Term, Wish, common_name, issue, render_certificate
from muster.client.calls import Refused, Unreachable, open_calls
from muster.client.target import Target
from muster.client.timekeeping import Timekeeper
from muster.clock import Change
from muster.image.pki import build_service_authority
from muster.image.secrets import KeyName, make_secrets
from muster.serving.listen import open_socket, parse_endpoint
from tests.clocks import EPOCH, HandClock
from tests.component.client.scene import Papers, make_papers

TODAY = datetime.now(UTC)
CENTURY = timedelta(days=36500)
NEVER: list[datetime] = []


@dataclass
class Service:
    """Answers everything, and says what time it is there."""

    url: str
    authority: Path
    papers: Papers
    context: ssl.SSLContext
    date: datetime = TODAY
    status: int = 200
    heard: list[str] = field(default_factory=list)

    @property
    def target(self) -> Target:
        return Target(self.url, token="t", authority=self.authority)

    @property
    def certificate(self) -> str:
        return self.papers.certificate.read_text()

    @property
    def signer(self) -> Authority:
        return build_service_authority(self.papers.secrets)

    def wish(self) -> Wish:
        key = self.papers.secrets.private[KeyName.SERVICE]
        return Wish(common_name("service"), key, (SERVER,), ("127.0.0.1",))

    def show(self, certificate: str) -> None:
        """Show another certificate to those who come from now on."""
        self.papers.certificate.write_text(certificate)
        self.context.load_cert_chain(self.papers.certificate, self.papers.key)

    async def answer(self, request: web.Request) -> web.Response:
        self.heard.append(f"{request.method} {request.headers.get('X-Secret-Key', '')}".strip())
        return web.Response(status=self.status, headers={"Date": format_datetime(self.date, usegmt=True)})


@asynccontextmanager
async def serving(folder: Path, created: datetime) -> AsyncIterator[Service]:
    """A service whose certificate was made at some time, for ten years."""
    papers = make_papers(folder, make_secrets(os.urandom, created))
    authority = folder / "authority.pem"
    authority.write_text(build_service_authority(papers.secrets).pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(papers.certificate, papers.key)
    with open_socket(parse_endpoint("127.0.0.1:0")) as listening:
        service = Service(f"https://127.0.0.1:{listening.getsockname()[1]}", authority, papers, context)
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", service.answer)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.SockSite(runner, listening, ssl_context=context).start()
        try:
            yield service
        finally:
            await runner.cleanup()


class Host:
    """A host with a clock of its own."""

    def __init__(self, now: datetime, *, governed: bool = False, stuck: bool = False) -> None:
        self.clock, self._governed = HandClock(now, stuck=stuck), governed
        self.told: list[Change] = []
        self.passed_s = 100.0

    async def is_governed(self) -> bool:
        return self._governed

    def keeper(self) -> Timekeeper:
        return Timekeeper(self.clock, self.is_governed, self.told.append, lambda: self.passed_s)


def play(scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def within() -> None:
        async with asyncio.timeout(60):
            await scene()

    asyncio.run(within())


@pytest.mark.parametrize("own", [EPOCH, datetime(2131, 1, 1, tzinfo=UTC), TODAY - timedelta(hours=8)])
def test_a_clock_that_differs_is_set_by_the_first_answer(tmp_path: Path, own: datetime) -> None:
    async def scene() -> None:
        host = Host(own)
        async with serving(tmp_path, TODAY - timedelta(days=1)) as service:
            async with open_calls(service.target, host.keeper()) as calls:
                for _ in range(3):
                    await calls.call("GET", "/clusters")
            assert len(host.clock.sets) == 1
            assert abs(host.clock.now() - TODAY) <= timedelta(seconds=2)
            (change,) = host.told
            assert change.was == own
            assert service.heard.count("GET t") == 3
            assert "HEAD t" not in service.heard  # Nobody who is not judged by its dates gets a token.

    play(scene)


def test_a_refusal_tells_the_time_as_well(tmp_path: Path) -> None:
    async def scene() -> None:
        host = Host(EPOCH)
        async with serving(tmp_path, TODAY - timedelta(days=1)) as service:
            service.status = 401
            async with open_calls(service.target, host.keeper()) as calls:
                with pytest.raises(Refused):
                    await calls.call("GET", "/clusters")
            assert len(host.clock.sets) == 1

    play(scene)


@pytest.mark.parametrize(
    ("made", "words"), [(CENTURY, "not valid yet"), (-CENTURY / 4, "not valid any more")]
)
def test_dates_of_a_certificate_do_not_keep_the_clock_from_being_set(
    tmp_path: Path, made: timedelta, words: str
) -> None:
    async def scene() -> None:
        host = Host(EPOCH)
        async with serving(tmp_path, TODAY + made) as service:
            service.date = TODAY + made + timedelta(days=1)
            async with open_calls(service.target, host.keeper()) as calls:
                # The clock of this machine is still what it was, and so are the certificate's dates by it.
                with pytest.raises(Unreachable, match=words):
                    await calls.call("GET", "/clusters")
            assert len(host.clock.sets) == 1
            assert abs(host.clock.sets[0] - service.date) <= timedelta(seconds=2)
            assert "GET t" not in service.heard

    play(scene)


def test_what_was_refused_because_of_the_clock_is_asked_again(tmp_path: Path) -> None:
    """What setting the clock of this machine would do, another certificate does instead."""

    async def scene() -> None:
        async with serving(tmp_path, TODAY - timedelta(days=1)) as service:
            good, wish = service.certificate, service.wish()
            term = Term("later", TODAY + timedelta(days=99), timedelta(days=1))
            service.show(render_certificate(issue(service.signer, wish, term)))
            host = Host(EPOCH)
            host.clock.when_set = lambda: service.show(good)
            async with open_calls(service.target, host.keeper()) as calls:
                await calls.call("GET", "/clusters")
            assert len(host.clock.sets) == 1
            assert service.heard[-1] == "GET t"

    play(scene)


def test_without_a_timekeeper_dates_count_and_no_clock_is_set(tmp_path: Path) -> None:
    async def scene() -> None:
        async with serving(tmp_path, TODAY + CENTURY) as service:
            async with open_calls(service.target) as calls:
                with pytest.raises(Unreachable, match="not valid yet"):
                    await calls.call("GET", "/clusters")
            assert service.heard == []

    play(scene)


def test_who_has_another_authority_sets_no_clock(tmp_path: Path) -> None:
    async def scene() -> None:
        host = Host(EPOCH)
        other = tmp_path / "other.pem"
        other.write_text(build_service_authority(make_secrets(os.urandom, TODAY)).pem)
        async with serving(tmp_path / "site", TODAY - timedelta(days=1)) as service:
            target = Target(service.url, token="t", authority=other)
            async with open_calls(target, host.keeper()) as calls:
                with pytest.raises(Unreachable, match="not of the expected authority"):
                    await calls.call("GET", "/clusters")
            assert await host.keeper().agree(target) is False
            assert host.clock.sets == NEVER
            assert service.heard == []

    play(scene)


def test_a_clock_that_a_time_server_sets_is_left_alone_and_not_compared_all_the_time(tmp_path: Path) -> None:
    async def scene() -> None:
        host = Host(TODAY - timedelta(hours=1), governed=True)
        async with serving(tmp_path, TODAY - timedelta(days=1)) as service:
            async with open_calls(service.target, host.keeper()) as calls:
                for _ in range(5):
                    await calls.call("GET", "/clusters")
                looks = service.heard.count("HEAD")
                host.passed_s += 60
                await calls.call("GET", "/clusters")
                assert service.heard.count("HEAD") == 2 * looks > 0
            assert host.clock.sets == NEVER == host.told

    play(scene)


def test_a_service_whose_clock_is_set_later_is_followed(tmp_path: Path) -> None:
    async def scene() -> None:
        host = Host(TODAY)
        async with (
            serving(tmp_path, TODAY - timedelta(days=1)) as service,
            open_calls(service.target, host.keeper()) as calls,
        ):
            await calls.call("GET", "/clusters")
            assert host.clock.sets == NEVER
            service.date = TODAY + timedelta(days=3)
            await calls.call("GET", "/clusters")
            assert abs(host.clock.now() - service.date) <= timedelta(seconds=2)

    play(scene)


def test_a_clock_that_cannot_be_set_stops_no_call(tmp_path: Path) -> None:
    async def scene() -> None:
        host = Host(EPOCH, stuck=True)
        async with (
            serving(tmp_path, TODAY - timedelta(days=1)) as service,
            open_calls(service.target, host.keeper()) as calls,
        ):
            await calls.call("GET", "/clusters")
        assert host.told == []

    play(scene)
