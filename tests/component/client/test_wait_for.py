# SPDX-License-Identifier: Apache-2.0
"""One who waits for an installation, with a real service over TLS, modelled hosts, and a Kubernetes API."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path

import pytest

from muster.cli.wait_for import follow
from muster.client import story
from muster.client.presence import Goal
from muster.client.story import Outcome
from muster.errors import ExitStatus
from tests.component.client.scene import HERE, Listener, Papers, make_papers, of_kind, seek, serve_api
from tests.component.service.processes import (
    free_port,
    install,
    person,
    served,
    until,
    watched_hosts,
)
from tests.component.service.whole import machines, open_service, play

NOWHERE = f"https://{HERE}:{free_port()}"


def test_from_the_first_host_to_the_installed_cluster(tmp_path: Path) -> None:
    """The wait begins before there is a cluster."""

    async def scene() -> None:
        papers, listener = make_papers(tmp_path / "papers"), Listener()
        async with open_service(tmp_path, **papers.settings) as site:
            waiting = asyncio.ensure_future(follow(seek(papers.secrets, site.url, NOWHERE), listener))
            await listener.heard("it has no cluster yet")
            cluster = await site.make_cluster()
            async with site.hosts(cluster["infra_env_id"], machines(3)):
                await install(site, cluster)
                end = await waiting
        assert (end.outcome, end.status) == (Outcome.COMPLETE, ExitStatus.OK)
        assert end.message == "alpha.example.com is installed"
        assert of_kind(listener.lines, "cluster")[-1].startswith("cluster: installed")
        (table,) = of_kind(listener.lines, "timeline")
        rows = [line[:22].strip() for line in table.splitlines()]
        assert rows[0] == "where the time went"
        assert {"meeting", "checks", "writing the disk", "set-up", "all of it"} <= set(rows)
        hosts = of_kind(listener.lines, "host")
        assert len({text.partition(":")[0] for text in hosts}) == 3
        assert sum(text.endswith(": installed") for text in hosts) == 3
        assert not [line for line in listener.lines if line.is_warning], listener.text

    play(scene, 120)


def test_over_a_restart_of_the_service(tmp_path: Path) -> None:
    async def scene() -> None:
        papers, listener = make_papers(tmp_path / "papers"), Listener()
        with served(tmp_path, *papers.options) as service:
            async with person(tmp_path, service) as someone:
                cluster = await someone.make_cluster()
                wanted = seek(papers.secrets, service.url, NOWHERE)
                waiting = asyncio.ensure_future(follow(wanted, listener))
                async with watched_hosts(someone, cluster["infra_env_id"], machines(3)):
                    await until(someone, cluster["id"], "ready")
                    await listener.heard("cluster: ready")
                    service.kill()
                    await listener.heard("does not answer any more: connection refused")
                    service.start()
                    await listener.heard("the service answers again after")
                    await install(someone, cluster)
                    end = await waiting
        assert end.outcome is Outcome.COMPLETE
        assert "its host was not told to reboot" in listener.text
        assert listener.text.count("cluster: ready") == 1

    play(scene, 300)


def test_a_service_that_does_not_come_back_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cluster itself says that it is complete."""
    monkeypatch.setattr(story, "STEADY_S", 1.0)

    async def scene() -> None:
        papers, listener = make_papers(tmp_path / "papers"), Listener()
        async with serve_api(tmp_path, papers.secrets) as api:
            api.nodes = {"a": True, "b": True, "c": False}
            waiting = asyncio.ensure_future(follow(seek(papers.secrets, NOWHERE, api.url), listener))
            await listener.heard("node c: not Ready")
            api.nodes["c"] = True
            await listener.heard("node c: Ready")
            await asyncio.sleep(2)
            assert not waiting.done()
            api.config_maps = {"muster-cluster-setup"}
            end = await waiting
        assert end.outcome is Outcome.COMPLETE
        assert "all of its nodes are ready" in end.message

    play(scene, 120)


def test_bootstrap_is_complete_when_the_api_is_ready(tmp_path: Path) -> None:
    async def scene() -> None:
        papers, listener = make_papers(tmp_path / "papers"), Listener()
        async with serve_api(tmp_path, papers.secrets) as api:
            api.is_ready = False
            wanted = seek(papers.secrets, NOWHERE, api.url, Goal.BOOTSTRAP)
            waiting = asyncio.ensure_future(follow(wanted, listener))
            await listener.heard("waiting for the service")
            assert not waiting.done()
            api.is_ready = True
            end = await waiting
        assert (end.outcome, end.status) == (Outcome.COMPLETE, ExitStatus.OK)

    play(scene, 60)


def test_against_nothing(tmp_path: Path) -> None:
    async def scene() -> None:
        papers, listener = make_papers(tmp_path / "papers"), Listener()
        wanted = seek(papers.secrets, NOWHERE, NOWHERE, Goal.BOOTSTRAP, patience_s=3)
        end = await follow(wanted, listener)
        assert (end.outcome, end.status) == (Outcome.TIMEOUT, ExitStatus.BOOTSTRAP_FAILED)
        assert f"the service at {NOWHERE} to come up (connection refused)" in end.message
        (text,) = of_kind(listener.lines, "service")
        assert NOWHERE in text

    play(scene, 60)


async def _told_of(papers: Papers, wanted: Papers, folder: Path) -> Listener:
    """What is told to one who has other papers than the service."""
    listener = Listener()
    async with open_service(folder, **papers.settings) as site:
        end = await follow(seek(wanted.secrets, site.url, NOWHERE, patience_s=3), listener)
    assert (end.outcome, end.status) == (Outcome.TIMEOUT, ExitStatus.INSTALL_FAILED)
    return listener


def test_a_wrong_certificate_is_told_as_such(tmp_path: Path) -> None:
    async def scene() -> None:
        theirs, ours = make_papers(tmp_path / "theirs"), make_papers(tmp_path / "ours")
        listener = await _told_of(theirs, ours, tmp_path)
        (text,) = of_kind(listener.lines, "service", lambda line: line.is_warning)
        assert "its certificate is not accepted" in text
        assert "not the service of this site" in text

    play(scene, 120)


def test_a_wrong_token_is_told_as_such(tmp_path: Path) -> None:
    async def scene() -> None:
        theirs, ours = make_papers(tmp_path / "theirs"), make_papers(tmp_path / "ours")
        theirs.certificate, theirs.key = ours.certificate, ours.key
        listener = await _told_of(theirs, ours, tmp_path)
        (text,) = of_kind(listener.lines, "service", lambda line: line.is_warning)
        assert "it refuses our token: the token was signed by somebody else" in text

    play(scene, 120)


def test_something_that_does_not_speak_tls(tmp_path: Path) -> None:
    async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            await writer.drain()

    async def scene() -> None:
        papers, listener = make_papers(tmp_path / "papers"), Listener()
        server = await asyncio.start_server(answer, HERE, 0)
        async with server:
            url = f"https://{HERE}:{server.sockets[0].getsockname()[1]}"
            await follow(seek(papers.secrets, url, NOWHERE, patience_s=3), listener)
        assert "what listens there does not speak TLS" in listener.text

    play(scene, 60)


def test_what_stands_in_the_way_is_told_with_its_fix(tmp_path: Path) -> None:
    async def scene() -> None:
        papers, listener = make_papers(tmp_path / "papers"), Listener()
        async with open_service(tmp_path, **papers.settings) as site:
            waiting = asyncio.ensure_future(follow(seek(papers.secrets, site.url, NOWHERE), listener))
            cluster = await site.make_cluster(api_vips=[{"ip": "203.0.113.7"}])
            async with site.hosts(cluster["infra_env_id"], machines(3)):
                await listener.heard("machine-cidr-defined fails")
                path, vips = f"/clusters/{cluster['id']}", {"api_vips": [{"ip": "192.0.2.200"}]}
                got = await site.ask("PATCH", path, vips)
                assert got.status == 201, got.body
                await listener.heard("machine-cidr-defined is mended")
                waiting.cancel()
                await asyncio.gather(waiting, return_exceptions=True)
        (trouble,) = [line for line in listener.lines if line.text.startswith("cluster: machine-cidr")][:1]
        assert trouble.facts["why"]
        assert trouble.facts["fix"]
        assert listener.text.count("cluster: machine-cidr-defined fails") == 1

    play(scene, 300)
