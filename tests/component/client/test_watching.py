# SPDX-License-Identifier: Apache-2.0
"""Changes are seen at once by the stream, and soon without it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import msgspec
from aiohttp import web

from muster.client.kubernetes import open_kubernetes
from muster.client.snapshot import ServiceSight, Snapshot, Trouble, Why
from muster.client.watching import Pace, open_watcher, watch
from muster.serving.listen import open_socket, parse_endpoint
from tests.component.client.scene import HERE, Papers, make_papers, seek
from tests.component.service.processes import free_port
from tests.component.service.whole import API, come, open_service, play
from tests.unit.client.sights import cluster

NOWHERE = f"https://{HERE}:{free_port()}"
FOR_EVER = 10_000.0


async def watch_until(papers: Papers, url: str, pace: Pace, is_so: Callable[[Snapshot], bool]) -> None:
    wanted = seek(papers.secrets, url, NOWHERE)
    async with (
        open_watcher(wanted.target, wanted.authority, "c") as watcher,
        open_kubernetes(wanted.access, ()) as kubernetes,
    ):
        await watch(watcher, kubernetes, is_so, pace)


def test_the_stream_says_when_to_look(tmp_path: Path) -> None:
    """Nobody looks by themselves here."""

    async def scene() -> None:
        papers = make_papers(tmp_path / "papers")
        async with open_service(tmp_path, **papers.settings) as site:
            made = await site.make_cluster()
            names: list[str] = []

            async def rename(name: str) -> None:
                got = await site.ask("PATCH", f"/clusters/{made['id']}", {"name": name})
                assert got.status == 201, got.body

            def is_so(snapshot: Snapshot) -> bool:
                name = snapshot.cluster.name if snapshot.cluster else None
                if name and name not in names:
                    names.append(name)
                return names[-1:] == ["gamma"]

            pace = Pace(tick_s=0.1, retry_s=FOR_EVER, settled_s=FOR_EVER)
            watching = asyncio.ensure_future(watch_until(papers, site.url, pace, is_so))
            for before, after in (("alpha", "beta"), ("beta", "gamma")):
                await come(partial(names.__contains__, before))
                await rename(after)
            await watching
            assert names == ["alpha", "beta", "gamma"]

    play(scene, 60)


class Streamless:
    """A service that has no stream."""

    def __init__(self) -> None:
        self.status = "ready"

    async def answer(self, request: web.Request) -> web.Response:
        found = msgspec.json.encode(cluster(self.status))
        match request.path.removeprefix(API):
            case "/clusters":
                return web.Response(body=b"[" + found + b"]")
            case "/clusters/c":
                return web.Response(body=found)
            case "/clusters/c/why":
                return web.Response(body=msgspec.json.encode(Why()))
            case _:
                return web.Response(status=404)


@asynccontextmanager
async def serve_streamless(papers: Papers) -> AsyncIterator[tuple[Streamless, str]]:
    service, app = Streamless(), web.Application()
    app.router.add_get("/{path:.*}", service.answer)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(papers.certificate, papers.key)
    runner = web.AppRunner(app)
    await runner.setup()
    with open_socket(parse_endpoint(f"{HERE}:0")) as listening:
        try:
            await web.SockSite(runner, listening, ssl_context=context).start()
            yield service, f"https://{HERE}:{listening.getsockname()[1]}"
        finally:
            await runner.cleanup()


def test_without_a_stream_it_is_looked_again_and_again(tmp_path: Path) -> None:
    async def scene() -> None:
        papers = make_papers(tmp_path / "papers")
        async with serve_streamless(papers) as (service, url):

            def is_so(snapshot: Snapshot) -> bool:
                if snapshot.cluster is not None and snapshot.cluster.status == "ready":
                    service.status = "installed"
                return snapshot.cluster is not None and snapshot.cluster.status == "installed"

            await watch_until(papers, url, Pace(tick_s=0.1, retry_s=0.1, settled_s=FOR_EVER), is_so)

    play(scene, 60)


def test_an_answer_that_is_not_understood_is_told_as_such(tmp_path: Path) -> None:
    async def scene() -> None:
        papers = make_papers(tmp_path / "papers")
        async with serve_streamless(papers) as (service, url):
            service.status, seen = "on holiday", list[ServiceSight]()

            def is_so(snapshot: Snapshot) -> bool:
                seen.extend(filter(None, [snapshot.service]))
                return bool(seen)

            await watch_until(papers, url, Pace(tick_s=0.1), is_so)
            assert seen[0].trouble is Trouble.STRANGE
            assert "on holiday" in seen[0].words

    play(scene, 60)
