# SPDX-License-Identifier: Apache-2.0
"""What hosts with their own tokens, and machines with the token of a medium, cost the service at most."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from muster.client.host_key import HostKey
from muster.model.host_key import KEY_HEADER
from muster.service import host_bounds
from muster.service.api import showing
from muster.service.api.views.hosts import show_host
from muster.service.edge.rate import Allowance, Rate
from muster.service.free_space import SPARE_BYTES, FreeSpace
from muster.service.host_bounds import UPLOADS, HostBounds
from muster.service.realm import Draft
from muster.service.refusals import Unavailable
from muster.service.states import host as states
from tests.component.service.test_attack import attacked, get, post
from tests.component.service.whole import API, SSH_KEY, Answer, Whole, come, open_service, play

_BOUNDARY = "end-of-a-part"
_BEGIN = f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="upfile"; filename="logs.tar.gz"\r\n\r\n'


def host_id(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012}"


async def register(whole: Whole, infra_env: str, number: int, key: int = 0) -> Answer:
    """A machine registers with the token of its medium, and a key of its own."""
    secret = HostKey(bytes([number, key]) + bytes(30))
    headers = {"X_Secret_Key": whole.agent_token(infra_env), KEY_HEADER: secret.public}
    return await whole.ask("POST", f"/infra-envs/{infra_env}/hosts", {"host_id": host_id(number)}, **headers)


class Host:
    """A machine that registered."""

    def __init__(self, whole: Whole, infra_env: str, number: int, token: str) -> None:
        self.whole, self.id, self.token = whole, host_id(number), token
        self.path = f"/infra-envs/{infra_env}/hosts/{self.id}"

    async def reply(self, step_type: str, output: Any, **more: Any) -> Answer:
        body = {"step_type": step_type, "step_id": "a", "output": json.dumps(output), **more}
        return await self.whole.ask("POST", f"{self.path}/instructions", body, X_Secret_Key=self.token)

    async def events(self) -> Counter[str]:
        found = (await self.whole.ask("GET", f"/events?host_id={self.id}&limit=-1")).json
        return Counter(each["name"] for each in found)


async def enrol(whole: Whole, infra_env: str, number: int) -> Host:
    got = await register(whole, infra_env, number)
    assert got.status == 201, got.body
    return Host(whole, infra_env, number, got.headers["x-muster-host-token"])


async def host_of(whole: Whole) -> tuple[Host, dict[str, Any]]:
    cluster = await whole.make_cluster()
    return await enrol(whole, cluster["infra_env_id"], 1), cluster


def inventory(size: int, name: str = "a") -> dict[str, Any]:
    disks = [{"name": f"sd{at}", "path": f"/dev/sd{at}", "model": "m" * 1000} for at in range(size)]
    return {"hostname": name, "disks": disks}


def test_replies_about_what_nobody_asked_for_leave_nothing(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as whole:
            host, _ = await host_of(whole)
            before = whole.running.service.engine.host(host.id)
            images = [{"name": f"image-{at}", "result": "failure"} for at in range(5000)]
            assert (await host.reply("container-image-availability", {"images": images})).status == 204
            speed = {"path": "/dev/" + "x" * 100_000, "io_sync_duration": 99}
            assert (await host.reply("installation-disk-speed-check", speed)).status == 400
            upgrade = {"agent_image": "x" * (1 << 18), "result": "success"}
            assert (await host.reply("upgrade-agent", upgrade)).status == 204
            names = [{"domain_name": f"name-{at}"} for at in range(5000)]
            assert (await host.reply("domain-resolution", {"resolutions": names})).status == 204
            after = whole.running.service.engine.host(host.id)
            assert (after.images, after.disk_speeds, after.resolutions) == ((), {}, ())
            assert before.inventory is after.inventory
            assert not {"image_status_updated", "upgrade_agent_finished"} & (await host.events()).keys()

    play(scene, 240)


def test_bytes_that_a_host_causes_to_be_written_are_bounded(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as whole:
            host, cluster = await host_of(whole)
            other = await enrol(whole, cluster["infra_env_id"], 2)
            bounds = whole.running.service.bounds
            bounds.host_writes = Allowance(Rate(burst=500_000, per_second=0.1))
            answers = [await host.reply("inventory", inventory(50, f"a{at % 2}")) for at in range(20)]
            found = Counter(each.status for each in answers)
            assert found.keys() == {204, 429}
            assert found[204] < 8, "each changes 50 kB, and writes them into the log and the row"
            assert int(answers[-1].headers["retry-after"]) > 0
            path = f"{host.path}/instructions?timestamp="
            assert (await whole.ask("GET", f"{path}1", X_Secret_Key=host.token)).status == 200
            version = whole.running.service.engine.realms[cluster["id"]].version
            progress = {"current_stage": "Installing"}
            refused = [
                await whole.ask("PUT", f"{host.path}/progress", progress, X_Secret_Key=host.token),
                await whole.ask(
                    "PUT", f"{host.path}/logs-progress", {"logs_state": "requested"}, X_Secret_Key=host.token
                ),
                await whole.ask(
                    "POST",
                    host.path.rpartition("/")[0],
                    {"host_id": host.id},
                    X_Secret_Key=host.token,
                ),
            ]
            assert [each.status for each in refused] == [429] * 3
            asked = await whole.ask("GET", f"{path}99999", X_Secret_Key=host.token)
            assert asked.status == 200, "it is still told what to do"
            assert whole.running.service.engine.realms[cluster["id"]].version == version
            assert (await other.reply("inventory", inventory(50))).status == 204, "others go on"

    play(scene, 240)


def test_bytes_that_all_hosts_of_a_cluster_cause_are_bounded(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as whole:
            host, cluster = await host_of(whole)
            other = await enrol(whole, cluster["infra_env_id"], 2)
            whole.running.service.bounds.realm_writes = Allowance(Rate(burst=1000, per_second=0.1))
            assert (await host.reply("inventory", inventory(50))).status == 204
            assert (await other.reply("inventory", inventory(50))).status == 429
            progress = {"current_stage": "Installing"}
            got = await whole.ask("PUT", f"{other.path}/progress", progress, X_Secret_Key=other.token)
            assert got.status == 409, "how far an installation is is taken; there is none"

    play(scene, 240)


def test_people_can_act_when_the_disk_is_almost_full(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as whole:
            host, cluster = await host_of(whole)
            left = 0.8
            clock = count(100, 10)
            whole.running.service.bounds.free_space = FreeSpace(
                tmp_path,
                lambda: float(next(clock)),
                lambda _: (1000 * SPARE_BYTES, int(left * SPARE_BYTES)),
            )
            got = await host.reply("inventory", inventory(5))
            assert (got.status, int(got.headers["retry-after"])) == (503, 60)
            assert "almost full" in got.json["reason"]
            assert (await register(whole, cluster["infra_env_id"], 2)).status == 503
            path, stage = f"{host.path}/progress", {"current_stage": "Installing"}
            told = await whole.ask("PUT", path, stage, X_Secret_Key=host.token)
            assert told.status == 409, "how far an installation is is taken; there is none"
            left = 0.4
            assert (await whole.ask("PUT", path, stage, X_Secret_Key=host.token)).status == 503
            steps = f"{host.path}/instructions?timestamp=1"
            assert (await whole.ask("GET", steps, X_Secret_Key=host.token)).status == 200
            changed = await whole.ask("PATCH", f"/clusters/{cluster['id']}", {"ssh_public_key": SSH_KEY})
            assert changed.status == 201
            assert (await whole.ask("DELETE", host.path)).status == 204
            left = 2.0
            assert (await register(whole, cluster["infra_env_id"], 2)).status == 201

    play(scene, 240)


def test_new_hosts_of_a_medium_are_few_at_a_time(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as whole:
            infra_env = (await whole.make_cluster())["infra_env_id"]
            bounds = whole.running.service.bounds
            bounds.registrations = Allowance(Rate(burst=3, per_second=1e-6))
            answers = [await register(whole, infra_env, number) for number in range(5)]
            assert [each.status for each in answers] == [201, 201, 201, 429, 429]
            assert int(answers[-1].headers["retry-after"]) > 0
            again = await register(whole, infra_env, 1)
            assert again.status == 401, "one that is known has to prove that it is the same"
            path = f"/infra-envs/{infra_env}/hosts"
            assert (await whole.ask("POST", path, {"host_id": host_id(9)})).status == 201, "people may"
            second = await whole.make_cluster(
                name="b", api_vips=[{"ip": "192.0.2.202"}], ingress_vips=[{"ip": "192.0.2.203"}]
            )
            assert (await register(whole, second["infra_env_id"], 10)).status == 201

    play(scene, 240)


def test_one_address_does_not_use_up_the_registrations_of_others() -> None:
    bounds = HostBounds()
    first = sum(bounds.may_register("a", "192.0.2.1", 0.0) for _ in range(2000))
    assert 500 <= first <= 600, "half of all are left to others"
    assert sum(bounds.may_register("a", f"192.0.2.{number}", 0.0) for number in range(2, 102)) == 100
    assert sum(bounds.may_register("a", "192.0.2.1", 60.0) for _ in range(100)) <= 6, "others come first"
    assert bounds.may_register("b", "192.0.2.1", 60.0), "each infra-env has its own"
    alone = sum(bounds.may_register("c", "2001:db8::1", 0.0) for _ in range(2000))
    later = sum(bounds.may_register("c", "2001:db8::2", 100.0) for _ in range(200))
    assert later >= 90, "hundreds of hosts may share an address: it goes on as quickly as all together"
    assert alone + later < 800


def test_an_infra_env_takes_in_so_many_hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "MOST_HOSTS", 2)

    async def scene() -> None:
        async with open_service(tmp_path) as whole:
            infra_env = (await whole.make_cluster())["infra_env_id"]
            answers = [await register(whole, infra_env, number) for number in range(3)]
            assert [each.status for each in answers] == [201, 201, 503]
            assert "has 2 hosts already" in answers[-1].json["reason"]
            path = f"/infra-envs/{infra_env}/hosts"
            assert (await whole.ask("DELETE", f"{path}/{host_id(0)}")).status == 204
            assert (await register(whole, infra_env, 3)).status == 201

            def forget(draft: Draft) -> None:
                if host := draft.hosts.get(host_id(1)):
                    draft.change(host, silent=True, registered_at=draft.now - timedelta(minutes=9))

            await whole.running.service.write_all(forget)
            assert (await register(whole, infra_env, 4)).status == 201
            there = (await whole.ask("GET", path)).json
            assert {each["id"] for each in there} == {host_id(3), host_id(4)}
            names = [each["name"] for each in (await whole.ask("GET", f"/events?host_id={host_id(1)}")).json]
            assert "host_gave_way" in names

    play(scene, 240)


def test_one_question_of_a_host_waits(tmp_path: Path) -> None:
    async def scene() -> None:
        async with attacked(tmp_path) as (whole, wire):
            host, _ = await host_of(whole)
            news = whole.running.service.news
            asked = get(f"{API}{host.path}/instructions", f"X-Secret-Key: {host.token}")
            waiting = get(f"{API}{host.path}/instructions", f"X-Secret-Key: {host.token}", "Prefer: wait=90")
            assert (await wire.ask(asked))[0] == 200, "it is told its first steps"
            for _ in range(50):
                _, writer = await wire.open()
                writer.write(waiting.encode())
                await writer.drain()
                writer.transport.abort()
            readers = []
            for _ in range(3):
                reader, writer = await wire.open()
                writer.write(waiting.encode())
                readers.append(reader)
            answers = [asyncio.ensure_future(reader.readuntil(b"\r\n\r\n")) for reader in readers]
            await come(lambda: sum(each.done() for each in answers) == 2)
            await come(lambda: len(news._waiting.get(host.id, ())) == 1)
            assert len(whole.running.service.bounds._questions) == 1
            assert all(each.result().startswith(b"HTTP/1.1 200") for each in answers if each.done())
            await whole.ask("DELETE", host.path)
            await asyncio.gather(*answers)
            await come(lambda: not whole.running.service.bounds._questions)

    play(scene, 240)


def test_how_far_a_host_is_is_kept_in_short(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as whole:
            host, cluster = await host_of(whole)
            service = whole.running.service

            def installing(draft: Draft) -> None:
                draft.change(draft.hosts[host.id], status="installing", role="worker")

            await service.change(lambda: service.engine.realms[cluster["id"]], installing)
            progress = {"current_stage": "Installing", "progress_info": "x" * 60_000}
            got = await whole.ask("PUT", f"{host.path}/progress", progress, X_Secret_Key=host.token)
            assert got.status == 200, got.body
            assert len(service.engine.host(host.id).progress.progress_info or "") == 2000

    play(scene, 240)


def test_hosts_of_one_medium_cannot_take_all_uploads(tmp_path: Path) -> None:
    async def scene() -> None:
        async with attacked(tmp_path) as (whole, wire):
            first = await whole.make_cluster()
            second = await whole.make_cluster(
                name="b", api_vips=[{"ip": "192.0.2.202"}], ingress_vips=[{"ip": "192.0.2.203"}]
            )
            crowd = [await enrol(whole, first["infra_env_id"], number) for number in range(12)]
            victim = await enrol(whole, second["infra_env_id"], 20)
            for number, host in enumerate(crowd):
                _, writer = await wire.open(f"127.0.0.{10 + number}")
                writer.write((upload(first["id"], host, 10_000) + _BEGIN + "x").encode())
            bounds = whole.running.service.bounds
            await come(lambda: sum(each.waiting for each in bounds._uploads.values()) == 12 - UPLOADS)
            await come(lambda: bounds.uploads == UPLOADS)
            body = f"{_BEGIN}logs\r\n--{_BOUNDARY}--\r\n"
            status, answer = await wire.ask(upload(second["id"], victim, len(body)) + body, "127.0.0.99")
            assert status == 204, answer
            assert bounds.uploads == UPLOADS, "two are left for others"

    play(scene, 240)


def upload(cluster_id: str, host: Host, size: int) -> str:
    path = f"{API}/clusters/{cluster_id}/logs?logs_type=host&host_id={host.id}"
    kind = f"Content-Type: multipart/form-data; boundary={_BOUNDARY}"
    return post(path, size, f"X-Secret-Key: {host.token}", kind)


def test_an_infra_env_has_some_of_the_uploads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_bounds, "_UPLOAD_PATIENCE_S", 0.01)

    async def scene() -> None:
        bounds, end, began = HostBounds(), asyncio.Event(), list[str]()

        async def upload(infra_env_id: str, host: str) -> None:
            async with bounds.upload(infra_env_id, host):
                began.append(infra_env_id)
                await end.wait()

        tasks = [asyncio.ensure_future(upload("a", f"{each}")) for each in range(UPLOADS)]
        await asyncio.sleep(0)
        with pytest.raises(Unavailable, match="other hosts upload"):
            await upload("a", "late")
        tasks.append(asyncio.ensure_future(upload("b", "other")))
        await asyncio.sleep(0)
        assert began == ["a"] * UPLOADS + ["b"]
        monkeypatch.setattr(host_bounds, "_UPLOAD_PATIENCE_S", 60)
        tasks.append(asyncio.ensure_future(upload("a", "late")))
        await asyncio.sleep(0)
        end.set()
        await asyncio.gather(*tasks)
        assert began[-1] == "a", "who waited is served"
        assert not bounds._uploads

    asyncio.run(scene())


async def _no_chunks() -> AsyncIterator[bytes]:
    yield b"x"
    await asyncio.Event().wait()


def test_slow_uploads_make_room_for_hosts_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_bounds, "_FREE_S", 0.05)
    monkeypatch.setattr(host_bounds, "_LOOK_S", 0.01)

    async def scene() -> None:
        bounds = HostBounds()

        async def trickle(host: str) -> None:
            async with bounds.upload("a", host) as place:
                async for _ in place.count(_no_chunks()):
                    pass

        slow = [asyncio.ensure_future(trickle(f"{each}")) for each in range(UPLOADS)]
        await come(lambda: bounds.uploads == UPLOADS)
        await asyncio.sleep(0.1)
        assert not any(each.done() for each in slow), "no host waits"
        async with asyncio.timeout(30), bounds.upload("a", "late"):
            ended = [each for each in slow if each.done()]
        assert len(ended) == 1
        with pytest.raises(Unavailable, match="was slow"):
            await ended[0]
        for each in slow:
            each.cancel()
        await asyncio.gather(*slow, return_exceptions=True)
        assert (bounds.uploads, bounds._uploads) == (0, {})

    asyncio.run(scene())


def test_a_host_that_waits_for_itself_ends_no_uploads_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_bounds, "_FREE_S", 0.0)
    monkeypatch.setattr(host_bounds, "_LOOK_S", 0.01)
    monkeypatch.setattr(host_bounds, "_UPLOAD_PATIENCE_S", 0.2)

    async def scene() -> None:
        bounds = HostBounds()
        async with bounds.upload("a", "slow"), bounds.upload("a", "evil"), bounds.upload("a", "evil"):
            with pytest.raises(Unavailable, match="other hosts"):
                async with bounds.upload("a", "evil"):
                    pass
            assert bounds.uploads == 3

    asyncio.run(scene())


def test_answers_with_many_hosts_are_made_beside_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty inventories that are as large as they may be once held up all others for 100 ms."""
    threads: set[str] = set()

    def note(*given: Any, **more: Any) -> Any:
        threads.add(threading.current_thread().name)
        return show_host(*given, **more)

    monkeypatch.setattr("muster.service.api.showing.show_host", note)

    async def scene() -> None:
        async with open_service(tmp_path) as whole:
            first, cluster = await host_of(whole)
            await enrol(whole, cluster["infra_env_id"], 2)
            assert (await first.reply("inventory", inventory(20))).status == 204
            id, infra_env = cluster["id"], cluster["infra_env_id"]
            paths = (
                *(f"/clusters/{id}", "/clusters?with_hosts=true", f"/clusters/{id}/hosts"),
                *(f"/infra-envs/{infra_env}/hosts", first.path),
            )
            own = await whole.ask("GET", f"/clusters/{id}", X_Secret_Key=first.token)
            threads.clear()
            few = [(await whole.ask("GET", path)).json for path in paths]
            assert threads == {"MainThread"}
            monkeypatch.setattr(showing, "MANY_HOSTS", 2)
            threads.clear()
            assert [(await whole.ask("GET", path)).json for path in paths[:-1]] == few[:-1]
            assert threads
            assert all(name.startswith("compute") for name in threads)
            assert (await whole.ask("GET", f"/clusters/{id}", X_Secret_Key=first.token)).json == own.json
            assert len(own.json["hosts"]) == 2
            assert sum("inventory" in each for each in own.json["hosts"]) == 1, "its own"

    play(scene, 240)
