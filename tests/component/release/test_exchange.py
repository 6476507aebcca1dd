# SPDX-License-Identifier: Apache-2.0
"""What cannot be had from outside: no sendfile, errors in the middle, and how often passwords are checked."""

from __future__ import annotations

import asyncio
import base64
import errno
import logging
import os
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import BinaryIO

import aiohttp
import pytest
from aiohttp import web

from muster.errors import ExternalError
from muster.release.oci.digest import Digest, digest_of
from muster.release.registry import exchange
from muster.release.registry.access import Access
from muster.release.registry.exchange import Exchange
from muster.release.store.blobs import Blobs
from muster.serving import accept
from muster.serving.listen import Endpoint, open_socket
from muster.serving.server import Place, open_server
from tests.stores import Stored, build_stored

SIZE = 5_000_000


@pytest.fixture
def stored(tmp_path: Path) -> Stored:
    return build_stored(tmp_path, SIZE)


def serve(stored: Stored, use: Callable[[aiohttp.ClientSession], Awaitable[None]]) -> None:
    """Serve within this process, where the system's answers can be replaced."""

    async def main() -> None:
        exchange = Exchange(stored.store, {}, 30)
        runner = web.ServerRunner(web.Server(exchange, access_log=None))
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0]
        async with aiohttp.ClientSession(f"http://{host}:{port}") as session:
            await use(session)
        await runner.cleanup()
        exchange.close()

    asyncio.run(main())


def fail_with(number: int) -> Callable[..., int]:
    def sendfile(*_args: object) -> int:
        raise OSError(number, os.strerror(number))

    return sendfile


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOSYS])
def test_a_file_system_without_sendfile(stored: Stored, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setattr(os, "sendfile", fail_with(number))

    async def use(session: aiohttp.ClientSession) -> None:
        for _ in range(2):
            async with session.get(f"/v2/team/tool/blobs/{stored.layer.digest}") as response:
                assert digest_of(await response.read()) == stored.layer.digest
        async with session.get(
            f"/v2/team/tool/blobs/{stored.layer.digest}", headers={"Range": "bytes=4000000-"}
        ) as response:
            data = stored.store.blobs.path(stored.layer.digest).read_bytes()
            assert await response.read() == data[4000000:]

    serve(stored, use)


def test_sendfile_that_fails_in_the_middle(stored: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the rest is sent in another way, from where it stood."""
    really = os.sendfile

    def sendfile(out: int, file: int, offset: int, count: int) -> int:
        if offset >= 1_000_000:
            raise OSError(errno.EINVAL, "invalid argument")
        return really(out, file, offset, min(count, 1_000_000))

    monkeypatch.setattr(os, "sendfile", sendfile)

    async def use(session: aiohttp.ClientSession) -> None:
        async with session.get(f"/v2/team/tool/blobs/{stored.layer.digest}") as response:
            assert digest_of(await response.read()) == stored.layer.digest
        async with session.get("/v2/team/tool/manifests/v1") as response:
            assert response.status == 200

    serve(stored, use)


def test_reads_that_fail_without_sendfile(stored: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    really = os.pread
    monkeypatch.setattr(os, "sendfile", fail_with(errno.EINVAL))

    def pread(file: int, count: int, offset: int) -> bytes:
        if offset >= 2_000_000:
            raise OSError(errno.EIO, "input/output error")
        return really(file, count, offset)

    monkeypatch.setattr(os, "pread", pread)

    async def use(session: aiohttp.ClientSession) -> None:
        with pytest.raises(aiohttp.ClientPayloadError):
            async with session.get(f"/v2/team/tool/blobs/{stored.layer.digest}") as response:
                await response.read()

    serve(stored, use)


def test_a_blob_that_cannot_be_opened(stored: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    really = Blobs.open

    def refuse(self: Blobs, digest: Digest) -> BinaryIO:
        if digest == stored.layer.digest:
            raise ExternalError("cannot read it: input/output error")
        return really(self, digest)

    monkeypatch.setattr(Blobs, "open", refuse)

    async def use(session: aiohttp.ClientSession) -> None:
        async with session.get(f"/v2/team/tool/blobs/{stored.layer.digest}") as response:
            assert response.status == 500
            assert (await response.json())["errors"][0]["code"] == "UNKNOWN"

    serve(stored, use)


class TestAccess:
    """The check of a password is slow; it is made as seldom as can be."""

    def admit(self, *logins: str) -> tuple[list[bool], int]:
        """Which logins are admitted, all coming at once, and how often a password was checked."""
        checked: list[bytes] = []

        def check(password: bytes, hashed: bytes) -> bool:
            checked.append(password)
            return password == hashed

        async def main() -> list[bool]:
            with ThreadPoolExecutor(1) as pool:
                access = Access({"ann": b"one", "bob": b"two"}, pool, check)
                headers = [f"Basic {base64.b64encode(login.encode()).decode()}" for login in logins]
                first = await asyncio.gather(*(access.admits(header) for header in headers))
                again = await asyncio.gather(*(access.admits(header) for header in headers))
                assert first == again
                return first

        return asyncio.run(main()), len(checked)

    def test_the_same_login_is_checked_once(self) -> None:
        assert self.admit(*["ann:one"] * 64) == ([True] * 64, 1)

    def test_each_login_is_checked(self) -> None:
        assert self.admit("ann:one", "bob:two") == ([True, True], 2)

    def test_what_was_wrong_is_checked_again(self) -> None:
        assert self.admit("ann:two") == ([False], 2)

    def test_a_user_who_is_not_there_is_checked_as_well(self) -> None:
        assert self.admit("eve:one") == ([False], 2)

    def test_a_user_is_not_another(self) -> None:
        assert self.admit("ann:one", "an:none", "ann:on") == ([True, False, False], 5)


def test_requests_that_fail_write_few_lines(
    stored: Stored, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_args: object) -> None:
        raise RuntimeError("it failed")

    monkeypatch.setattr(exchange, "answer", fail)

    async def use(session: aiohttp.ClientSession) -> None:
        for number in range(30):
            async with session.get(f"/v2/team/tool{number}/manifests/v1") as response:
                assert response.status == 500

    serve(stored, use)
    assert len([each for each in caplog.records if each.levelname == "ERROR"]) == 1


def test_connections_that_cannot_be_accepted_write_few_lines(
    stored: Stored, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(accept, "_PAUSE_S", 0.0)

    async def main() -> None:
        tries, is_enough = count(1), asyncio.Event()

        async def sock_accept(*_args: object) -> None:
            if next(tries) == 50:
                is_enough.set()
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

        async def end_at_once() -> None:
            pass

        monkeypatch.setattr(asyncio.get_running_loop(), "sock_accept", sock_accept)
        served = Exchange(stored.store, {}, 30)
        place = Place(open_socket(Endpoint("127.0.0.1", 0), "a test"), 5.0)
        async with open_server(served, place, logging.getLogger("muster.test"), end_at_once):
            await asyncio.wait_for(is_enough.wait(), 10)
        served.close()

    asyncio.run(main())
    assert len([each for each in caplog.records if "cannot accept" in each.getMessage()]) == 1
