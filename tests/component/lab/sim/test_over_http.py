# SPDX-License-Identifier: Apache-2.0
"""Modelled hosts over real sockets: TLS, tokens, long polls, and a service that stumbles."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from muster.errors import MusterError
from muster.lab.sim.machines import make_many
from muster.lab.sim.over_http import Pace, Target, make_context, open_drive
from muster.lab.sim.port import Refused, Unreachable
from muster.model.wire.host import HostCreateParams, HostProgress, LogsProgressParams
from muster.model.wire.reports import StepReply
from tests.component.release.authority import Authority
from tests.unit.lab.sim.made import machines_of, world_of
from tests.unit.lab.sim.small_service import CLUSTER, INFRA_ENV, SmallService, encode

QUICK = Pace(work=0.001, waits=0.002)
BASE = f"/api/assisted-install/v2/infra-envs/{INFRA_ENV}/hosts"


class Server:
    """The small service behind HTTP."""

    def __init__(self, service: SmallService) -> None:
        self.service = service
        self.tokens: set[str | None] = set()
        self.preferences: set[str | None] = set()
        self.gives_tokens = False
        self.app = web.Application(middlewares=[self._watch])
        self.app.router.add_post(BASE, self._register)
        self.app.router.add_get(BASE + "/{host}/instructions", self._poll)
        self.app.router.add_post(BASE + "/{host}/instructions", self._reply)
        self.app.router.add_put(BASE + "/{host}/progress", self._progress)
        self.app.router.add_put(BASE + "/{host}/logs-progress", self._logs_progress)
        self.app.router.add_post("/api/assisted-install/v2/clusters/{cluster}/logs", self._logs)

    @web.middleware
    async def _watch(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        self.tokens.add(request.headers.get("X-Secret-Key"))
        try:
            return await handler(request)
        except Refused as error:
            return web.Response(status=error.status)
        except Unreachable:
            assert request.transport
            request.transport.close()
            return web.Response(status=500)

    async def _register(self, request: web.Request) -> web.Response:
        params = msgspec.json.decode(await request.read(), type=HostCreateParams)
        answer = _json(self.service.register(params), 201)
        if self.gives_tokens:
            answer.headers["X-Muster-Host-Token"] = f"own of {params.host_id}"
        return answer

    async def _poll(self, request: web.Request) -> web.Response:
        self.preferences.add(request.headers.get("Prefer"))
        host, timestamp = request.match_info["host"], int(request.query["timestamp"])
        return _json(self.service.instructions(host, timestamp))

    async def _reply(self, request: web.Request) -> web.Response:
        self.service.reply(
            request.match_info["host"], msgspec.json.decode(await request.read(), type=StepReply)
        )
        return web.Response(status=204)

    async def _progress(self, request: web.Request) -> web.Response:
        progress = msgspec.json.decode(await request.read(), type=HostProgress)
        self.service.progress(request.match_info["host"], progress)
        return web.Response()

    async def _logs_progress(self, request: web.Request) -> web.Response:
        state = msgspec.json.decode(await request.read(), type=LogsProgressParams)
        self.service.logs_progress(request.match_info["host"], state)
        return web.Response(status=204)

    async def _logs(self, request: web.Request) -> web.Response:
        form = await request.post()
        file = form["upfile"]
        assert isinstance(file, web.FileField)
        self.service.logs(request.query["host_id"], request.match_info["cluster"], file.file.read())
        return web.Response(status=204)


def _json(value: object, status: int = 200) -> web.Response:
    return web.Response(body=encode(value).encode(), status=status, content_type="application/json")


@contextlib.asynccontextmanager
async def serve(server: Server, authority: Authority) -> AsyncIterator[str]:
    """Serve on a free port; the URL."""
    runner = web.AppRunner(server.app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=authority.context())
        await site.start()
        yield f"https://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    made = Authority(tmp_path)
    (tmp_path / "ca.crt").write_text(made.pem, "ascii")
    return made


def test_hosts_install_over_tls(authority: Authority, tmp_path: Path) -> None:
    machines = list(make_many(machines_of("kvm-libvirt", "dell-r650-perc", "nvme-only"), 12))
    server = Server(SmallService(len(machines)))
    server.service.trouble = [503, 0, 500, 503]
    tokens = {machine.host_id: f"token of {machine.name}" for machine in machines[1:]}

    async def go() -> dict[str, Any]:
        async with serve(server, authority) as url:
            target = Target(
                url=f"{url}/", infra_env_id=INFRA_ENV, token="of all", tokens=tokens,
                ca_file=tmp_path / "ca.crt", wait_s=3,
            )  # fmt: skip
            async with open_drive(target, world_of(machines), machines, 5, QUICK) as drive:
                async with asyncio.timeout(120):
                    await drive.run(within_s=0.01)
                assert drive.port.counts[503] + drive.port.counts[500] + drive.port.counts[0] >= 4
                return {loop.host.id: loop for loop in drive.loops}

    loops = asyncio.run(go())
    assert {loop.phase for loop in loops.values()} == {"installed"}
    assert server.tokens == {"of all", *tokens.values()}
    assert server.preferences == {"wait=3"}
    for host_id, loop in loops.items():
        assert server.service.stages_of(host_id)[-1] == "Done"
        assert [each.why for each in loop.host.written] == ["image"]
    assert set(server.service.registrations) == set(loops)


def test_logs_are_sent_and_hosts_stop_when_it_is_enough(authority: Authority) -> None:
    machines = machines_of("kvm-libvirt")
    server = Server(SmallService(2))
    wish = {"cluster_id": CLUSTER, "infra_env_id": INFRA_ENV, "host_id": machines[0].host_id}
    more = {"bootstrap": False, "installer_gather": True}
    server.service.wanted[machines[0].host_id] = [
        server.service.step("logs-gather", encode({**wish, **more}))
    ]

    def is_enough() -> bool:
        return "completed" in server.service.log_states

    async def go() -> None:
        async with serve(server, authority) as url:
            target = Target(url=url, infra_env_id=INFRA_ENV, insecure=True)
            async with open_drive(target, world_of(machines), machines, pace=QUICK) as drive:
                async with asyncio.timeout(60):
                    await drive.run(is_enough=is_enough)

    asyncio.run(go())
    assert sorted(server.service.log_states) == ["collecting", "completed"]
    assert server.service.archives == [(machines[0].host_id, CLUSTER)]
    assert server.tokens == {None}


def test_a_certificate_that_nobody_vouches_for(authority: Authority) -> None:
    machines = machines_of("kvm-libvirt")
    server = Server(SmallService(1))

    async def go() -> int:
        async with serve(server, authority) as url:
            target = Target(url=url, infra_env_id=INFRA_ENV)
            async with open_drive(target, world_of(machines), machines, pace=QUICK) as drive:
                async with asyncio.timeout(60):
                    await drive.run(is_enough=lambda: drive.port.counts[0] >= 3)
                return sum(drive.port.counts.values()) - drive.port.counts[0]

    assert asyncio.run(go()) == 0
    assert not server.service.registrations


def test_an_authority_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(MusterError, match="cannot use"):
        make_context(Target(url="https://192.0.2.1", infra_env_id=INFRA_ENV, ca_file=tmp_path / "none"))
    (tmp_path / "bad").write_text("nonsense", "ascii")
    with pytest.raises(MusterError, match="cannot use"):
        make_context(Target(url="https://192.0.2.1", infra_env_id=INFRA_ENV, ca_file=tmp_path / "bad"))


@pytest.mark.parametrize("enrols", [True, False])
def test_a_host_takes_the_token_that_it_is_given(authority: Authority, enrols: bool) -> None:
    machines = machines_of("kvm-libvirt")
    server = Server(SmallService(2))
    server.gives_tokens = True

    async def go() -> None:
        async with serve(server, authority) as url:
            target = Target(url=url, infra_env_id=INFRA_ENV, insecure=True, token="medium", enrols=enrols)
            async with open_drive(target, world_of(machines), machines, pace=QUICK) as drive:
                async with asyncio.timeout(60):
                    await drive.run(is_enough=lambda: bool(server.service.inventories))

    asyncio.run(go())
    assert server.tokens == {"medium", *([f"own of {machines[0].host_id}"] if enrols else [])}
