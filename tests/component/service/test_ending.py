# SPDX-License-Identifier: Apache-2.0
"""A service is told to end: it answers what is under way, keeps nobody waiting, and leaves a clean house."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from pathlib import Path

from muster.lab.sim.over_http import Target, make_context
from muster.service.replay import check_store
from muster.service.store.open import open_store
from tests.component.muster import run
from tests.component.service.processes import person, served, watched_hosts
from tests.component.service.whole import API, machines, play

ENDS_WITHIN_S = 8
"""Less than any of those who wait would wait, and than the service would wait for them."""


def test_a_service_that_is_told_to_end_answers_all_who_wait(tmp_path: Path) -> None:
    async def scene() -> None:
        with served(tmp_path) as service:
            async with person(tmp_path, service) as someone:
                cluster = await someone.make_cluster()
                stream = await someone.session.get(
                    f"{service.url}{API}/stream", headers={"Authorization": f"Bearer {someone.token}"}
                )
                hosts = watched_hosts(someone, cluster["infra_env_id"], machines(3), wait_s=60)
                async with hosts as (_, witness):
                    await someone.until(cluster["id"], lambda each: each["status"] == "ready")
                    await witness.quiet(3)
                    slow = await _begin_change(service.port, someone.token, cluster["id"])
                    noted = len(witness.noted)
                    ending = asyncio.ensure_future(asyncio.to_thread(service.end))
                    got = await _finish_change(*slow)
                    assert b" 201 " in got.partition(b"\r\n")[0]
                    async with asyncio.timeout(ENDS_WITHIN_S):
                        await stream.read()
                        assert await ending == 0
                    answers = [got.status for _, _, got in witness.noted[noted:] if got.status]
                    assert answers.count(200) >= 3
        assert "the service ended" in service.said()
        with closing(open_store(service.data)) as store:
            assert check_store(store) == []
            (realm,) = (each for each in store.load() if each.cluster is not None)
            assert realm.cluster is not None
            assert realm.cluster.name == "changed"

    play(scene)


async def _begin_change(
    port: int, token: str, cluster_id: str
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """The first half of a request."""
    context = make_context(Target(url="", infra_env_id="", insecure=True))
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    body = json.dumps({"name": "changed"})
    head = f"PATCH {API}/clusters/{cluster_id} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n{body[:5]}".encode())
    await writer.drain()
    await asyncio.sleep(0.2)
    return reader, writer


async def _finish_change(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    await asyncio.sleep(0.5)
    writer.write(json.dumps({"name": "changed"})[5:].encode())
    got = await reader.read()
    writer.close()
    return got


def test_a_second_service_on_the_same_file_is_refused(tmp_path: Path) -> None:
    async def scene() -> None:
        with served(tmp_path) as service:
            async with person(tmp_path, service) as someone:
                second = await asyncio.to_thread(
                    run, "serve", "--data", service.data, "--listen", "127.0.0.1:0"
                )
                assert second.status == 1
                assert service.process is not None
                assert f"process id {service.process.pid}" in second.err
                assert "--data" in second.err
                assert (await someone.ask("GET", "/health")).status == 200
            service.kill()
            service.start()  # The lock of one who was killed is nobody's.
            await service.up()
            service.said()

    play(scene)


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    async def scene() -> None:
        with served(tmp_path) as service:
            await service.up()
            second = await asyncio.to_thread(
                run, "serve", "--data", tmp_path / "other", "--listen", f"127.0.0.1:{service.port}"
            )
            assert second.status != 0
            assert str(service.port) in second.err

    play(scene)
