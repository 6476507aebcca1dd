# SPDX-License-Identifier: Apache-2.0
"""Archives of logs: streamed in and out, kept as files within quotas, and read one at a time."""

from __future__ import annotations

import asyncio
import errno
import io
import os
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from muster.service import log_archives
from muster.service.log_archives import (
    FOLDER,
    FileArchives,
    Quota,
    StoredArchives,
    find_file,
)
from muster.service.logs import Turns
from muster.service.realm import Realm
from muster.service.refusals import (
    BadRequest,
    NoSpace,
    StateConflict,
    TooLarge,
    Unavailable,
    for_callers,
)
from muster.service.store.large import Key
from muster.service.store.memory import MemoryStore
from tests.component.service.whole import API, Whole, machines, open_service, play
from tests.realms import begin, decide

SMALL = Quota(host_bytes=4 << 20, controller_bytes=8 << 20, total_bytes=10 << 20, uploads=2)


async def chunks(size: int, byte: bytes = b"x", piece: int = 300_000) -> AsyncIterator[bytes]:
    for start in range(0, size, piece):
        yield byte * min(piece, size - start)


def files(folder: Path, quota: Quota = SMALL, free: int = 1 << 40) -> FileArchives:
    made = FileArchives(folder, MemoryStore(), quota, lambda _: (1 << 40, free))
    made.begin(["c1"])
    return made


def stored(quota: Quota = SMALL) -> StoredArchives:
    store, realm = MemoryStore(), Realm("c1")
    store.commit([begin(realm)])

    async def put(_: str, documents: dict[Key, bytes | None]) -> None:
        store.commit([decide(realm, lambda draft: draft.documents.update(documents))])

    numbers = iter(range(999))
    return StoredArchives(store, put, lambda: f"u{next(numbers)}-", quota)


def list_files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def body(archives: FileArchives | StoredArchives, owner: str) -> bytes:
    found = archives.find("c1", owner)
    assert found is not None
    read = b"".join(found.pieces())
    assert len(read) == found.size_bytes
    return read


def test_an_archive_replaces_the_one_before_and_is_private(tmp_path: Path) -> None:
    async def scene() -> None:
        for archives in (files(tmp_path / "logs"), stored()):
            assert archives.find("c1", "h1") is None
            assert await archives.put("c1", "h1", chunks(3 << 20, b"a")) == 3 << 20
            assert await archives.put("c1", "h1", chunks(2_500_000, b"b")) == 2_500_000
            assert body(archives, "h1") == b"b" * 2_500_000
            assert await archives.put("c1", "../h/2", chunks(10)) == 10
            assert archives.owners("c1") == {"h1", "../h/2"}

    play(scene, 60)
    assert len(list_files(tmp_path)) == 2
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in list_files(tmp_path)} == {0o600}


def test_what_is_too_large_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"x" * (2 << 20)
        raise BadRequest("the body breaks off")

    async def scene() -> None:
        for archives in (files(tmp_path), stored()):
            await archives.put("c1", "h1", chunks(10))
            with pytest.raises(TooLarge, match="larger than 4 MiB"):
                await archives.put("c1", "h1", chunks(5 << 20))
            with pytest.raises(BadRequest):
                await archives.put("c1", "h1", broken())
            assert await archives.put("c1", "controller", chunks(5 << 20)) == 5 << 20
            assert body(archives, "h1") == b"x" * 10
        assert len(list_files(tmp_path)) == 2

    play(scene, 60)


def test_all_archives_together_have_a_quota(tmp_path: Path) -> None:
    async def scene() -> None:
        archives = files(tmp_path)
        for number in range(4):
            await archives.put("c1", f"h{number}", chunks(3 << 20))
            os.utime(tmp_path / f"realm-c1/logs-h{number}.tar.gz", (number + 1, number + 1))
        assert archives.owners("c1") == {"h1", "h2", "h3"}, "the oldest makes room"
        in_store = stored()
        for number in range(3):
            await in_store.put("c1", f"h{number}", chunks(3 << 20))
        with pytest.raises(NoSpace, match="take more than 10 MiB"):
            await in_store.put("c1", "h3", chunks(3 << 20))
        assert in_store.owners("c1") == {"h0", "h1", "h2"}

    play(scene, 60)


def test_a_disk_that_is_nearly_full_is_not_filled(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        archives = files(tmp_path, free=500 << 20)
        for _ in range(3):
            with pytest.raises(NoSpace, match="500 MiB free, of which 512 MiB are kept") as refused:
                await archives.put("c1", "h1", chunks(10))
            assert str(tmp_path) not in " ".join(for_callers(refused.value))
        assert list_files(tmp_path) == set()
        assert caplog.text.count(f"{tmp_path}: the logs cannot be kept: the service has 500 MiB free") == 1

    play(scene, 60)


def fill(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device", "/var/lib/muster/host-logs")


@pytest.mark.parametrize("where", ["write", "fsync"])
def test_a_disk_that_becomes_full_is_not_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    async def scene() -> None:
        archives = files(tmp_path)
        with monkeypatch.context() as patch:
            if where == "write":
                patch.setattr(log_archives, "_create", lambda part: SimpleNamespace(write=fill, close=fill))
            else:
                patch.setattr(os, "fsync", fill)
            with pytest.raises(NoSpace, match="the disk of the service is full") as refused:
                await archives.put("c1", "h1", chunks(10))
        assert "/" not in " ".join(for_callers(refused.value))
        assert list_files(tmp_path) == set()

    play(scene, 60)


def test_few_uploads_go_on_at_a_time(tmp_path: Path) -> None:
    async def scene() -> None:
        archives, go_on = files(tmp_path), asyncio.Event()

        async def slow() -> AsyncIterator[bytes]:
            yield b"x"
            await go_on.wait()

        first = asyncio.ensure_future(archives.put("c1", "h1", slow()))
        second = asyncio.ensure_future(archives.put("c1", "h2", slow()))
        await asyncio.sleep(0)
        with pytest.raises(StateConflict, match="another upload of the logs of h1"):
            await archives.put("c1", "h1", chunks(1))
        with pytest.raises(Unavailable, match="2 uploads of logs are under way"):
            await archives.put("c1", "h3", chunks(1))
        go_on.set()
        assert await first == await second == 1
        assert await archives.put("c1", "h3", chunks(1)) == 1

    play(scene, 60)


def test_leftovers_are_removed_at_the_start(tmp_path: Path) -> None:
    for name in (
        "realm-c1/logs-h1.tar.gz",
        "realm-c1/logs-h2.tar.gz.part",
        "realm-c9/logs-h1.tar.gz",
        "mine",
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x")
    files(tmp_path)
    assert list_files(tmp_path) == {"realm-c1/logs-h1.tar.gz", "mine"}


def test_archives_are_viewed_one_at_a_time() -> None:
    async def scene() -> None:
        turns, inside, most = Turns("logs", 3, 30), 0, 0

        async def view() -> None:
            nonlocal inside, most
            async with turns.take():
                inside += 1
                most = max(most, inside)
                await asyncio.sleep(0)
                inside -= 1

        done = await asyncio.gather(*(view() for _ in range(8)), return_exceptions=True)
        assert most == 1
        assert sum(isinstance(each, Unavailable) for each in done) == 4
        impatient = Turns("logs", 3, 0)
        async with impatient.take():
            with pytest.raises(Unavailable, match="too many requests read logs"):
                async with impatient.take():
                    pass
        async with impatient.take():
            pass

    play(scene, 60)


async def _send(site: Whole, made: dict[str, Any], host: str, data: Any) -> int:
    url = f"{site.url}{API}/clusters/{made['id']}/logs?logs_type=host&host_id={host}"
    own = site.running.service.around.host_tokens.issue(made["infra_env_id"], host)
    named = {"X-Secret-Key": own}
    async with site.session.post(url, data=data, headers=named) as got:
        return got.status


def _archive() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        entry = tarfile.TarInfo("logs/journal.txt")
        entry.size = 8
        tar.addfile(entry, io.BytesIO(b"one\ntwo\n"))
    return packed.getvalue()


async def _put_document(site: Whole, cluster: str, name: str, body: bytes) -> None:
    """As older versions kept logs."""
    service = site.running.service
    await service.change(
        lambda: service.engine.realm_of("cluster", cluster),
        lambda draft: draft.documents.update({(cluster, name): body}),
    )


async def _check_reading(site: Whole, cluster: str, hosts: tuple[str, ...], archive: bytes) -> None:
    for host in hosts:
        site.running.service.tails.pop(host, None)
        got = await site.ask("GET", f"/clusters/{cluster}/logs?logs_type=host&host_id={host}")
        assert (got.status, got.body) == (200, archive)
        shown = await site.ask("GET", f"/clusters/{cluster}/hosts/{host}/log")
        assert shown.json["lines"] == ["one", "two"]
    whole = await site.ask("GET", f"/clusters/{cluster}/logs")
    with tarfile.open(fileobj=io.BytesIO(whole.body)) as tar:
        names = {each.name: tar.extractfile(each).read() for each in tar}  # type: ignore[union-attr]
    assert names == {f"{host}/logs.tar.gz": archive for host in hosts}


def test_the_service_streams_logs_and_still_has_those_of_older_versions(tmp_path: Path) -> None:
    archive, folder = _archive(), tmp_path / "data" / FOLDER

    async def scene() -> None:
        async with open_service(tmp_path) as site:
            made = await site.make_cluster()
            cluster = made["id"]
            async with site.hosts(made["infra_env_id"], machines(2)):
                found = await site.until(cluster, lambda each: len(each.get("hosts") or ()) == 2)
            first, second = sorted(host["id"] for host in found["hosts"])
            await _put_document(site, cluster, f"logs/{second}", archive)
            form = aiohttp.FormData()
            form.add_field("upfile", archive, filename="logs.tar.gz", content_type="application/gzip")
            assert await _send(site, made, first, form) == 204
            kept = find_file(folder, cluster, first)
            assert kept is not None
            assert b"".join(kept.pieces()) == archive
            assert not site.running.store.document(cluster, cluster, f"logs/{first}")
            await _check_reading(site, cluster, (first, second), archive)
            got = await site.ask("DELETE", f"/clusters/{cluster}")
            assert got.status == 204
            assert list_files(folder) == set()

    play(scene)
