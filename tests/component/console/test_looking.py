# SPDX-License-Identifier: Apache-2.0
"""What a console sees of a real service, with the token of its host; and what it is told of on the host."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath

import msgspec

from muster.cli.host_agent import heed_console
from muster.cli.showing_code import showing_code
from muster.client.snapshot import ServiceSight, Trouble
from muster.client.target import Target
from muster.console.facts import Facts, HostFacts
from muster.console.looking import Course, Looker
from muster.console.main_screen import failing_checks
from muster.links import Changes, Kind
from muster.model.service_card import LOGIN_FILE, LoginCode
from muster.service.auth.codes import OneTimeCode
from muster.support.secrets import is_secret_path
from tests.component.service.test_personas import HOSTS, furnish, register
from tests.component.service.whole import open_service, play


class Place:
    """A service with two clusters, and a host of the first."""

    def __init__(self, target: Target, cluster_id: str, other_id: str) -> None:
        self.target, self.cluster_id, self.other_id = target, cluster_id, other_id


@asynccontextmanager
async def place(folder: Path) -> AsyncIterator[Place]:
    async with open_service(folder) as site:
        here = await furnish(site, "alpha", HOSTS[0])
        other = await furnish(site, "beta", HOSTS[1])
        authority = folder / "authority.pem"
        authority.write_text(site.running.identity.authority_pem)
        target = Target(site.url, token=await register(site, here), authority=authority)
        yield Place(target, here.cluster_id, other.cluster_id)


async def look(*courses: Course | None) -> list[ServiceSight | None]:
    """What one sees who looks there, one after the other."""
    left = list(courses)
    looker = Looker(lambda: left.pop(0))
    try:
        return [await looker.look() for _ in courses]
    finally:
        await looker.close()


def test_a_host_sees_its_cluster_with_its_own_token(tmp_path: Path) -> None:
    async def scene() -> None:
        async with place(tmp_path) as here:
            course = Course(here.target, here.cluster_id)
            nowhere, first, again = await look(None, course, course)
            assert nowhere is None
            assert first is not None
            assert again is not None
            assert first.trouble is None
            assert (first.cluster, first.why) == (again.cluster, again.why)
            assert first.cluster is not None
            assert [each.id for each in first.cluster.hosts or ()] == [HOSTS[0]]
            found = failing_checks(Facts(host=HostFacts("m-0"), known=first))
            assert any(each.fix for each in found)

    play(scene)


def test_what_cannot_be_seen_is_told_apart(tmp_path: Path) -> None:
    async def scene() -> None:
        async with place(tmp_path) as here:
            target = here.target
            found = await look(
                Course(target, here.other_id),
                Course(replace(target, url="https://127.0.0.1:1"), here.cluster_id),
                Course(replace(target, authority=tmp_path / "nothing"), here.cluster_id),
            )
            assert [each.trouble for each in found if each is not None] == [
                Trouble.REFUSED,
                Trouble.SILENT,
                Trouble.STRANGE,
            ]

    play(scene)


def test_a_cluster_that_somebody_makes_later_is_no_trouble(tmp_path: Path) -> None:
    async def scene() -> None:
        async with place(tmp_path) as here:
            (found,) = await look(Course(here.target, here.other_id, made_later=True))
            assert found is not None
            assert (found.trouble, found.cluster) == (None, None)

    play(scene)


def test_the_code_is_for_root_alone_and_goes_with_the_service(tmp_path: Path) -> None:
    path = tmp_path / "run/login-secret"

    async def scene() -> None:
        code = OneTimeCode(os.urandom)
        async with showing_code(code, path):
            async with asyncio.timeout(20):
                while not path.exists():  # noqa: ASYNC110 - it is a file
                    await asyncio.sleep(0.01)
            found = msgspec.json.decode(path.read_bytes(), type=LoginCode)
            assert code.take(found.code, found.until.timestamp() - 1)
            assert path.stat().st_mode & 0o777 == 0o600

    asyncio.run(scene())
    assert not path.exists()


def test_no_bundle_has_the_code() -> None:
    assert is_secret_path(PurePosixPath("run/muster") / LOGIN_FILE)


def test_without_a_code_there_is_no_file(tmp_path: Path) -> None:
    async def scene() -> None:
        async with showing_code(None, tmp_path / LOGIN_FILE):
            await asyncio.sleep(0)
            assert os.listdir(tmp_path) == []  # noqa: PTH208

    asyncio.run(scene())


def test_the_agent_is_told_to_look_again() -> None:
    async def scene() -> frozenset[Kind]:
        changes = Changes()
        heed_console(changes)
        os.kill(os.getpid(), signal.SIGHUP)
        return await changes.wait(20)

    assert asyncio.run(scene()) == {Kind.OTHER}
