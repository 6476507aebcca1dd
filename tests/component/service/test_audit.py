# SPDX-License-Identifier: Apache-2.0
"""The audit log, the actor of events, and people who may only look."""

from __future__ import annotations

import json
import logging
import os
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from muster.service.auth.passwords import hash_password
from muster.service.store.looking import look_at
from muster.service.store.open import FILE
from tests.component.service.whole import Whole, machines, open_service, play

VIEWER = "only here to look around"
CANARY = "canary-51c0ffee"


def records(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [json.loads(each.getMessage()) for each in caplog.records if each.name == "muster.audit"]


async def log_in(site: Whole, password: str, token: str = "none") -> Any:
    return await site.ask("POST", "/login", {"password": password}, Authorization=f"Bearer {token}")


def test_logins_refusals_and_changes_are_recorded_with_who_did_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "muster.audit")

    async def scene() -> None:
        hashed = hash_password("a good long password", os.urandom)
        async with open_service(tmp_path, password_hash=hashed) as site:
            for _ in range(3):
                assert (await log_in(site, f"wrong {CANARY}")).status == 401
            cluster = await site.make_cluster(name="alpha")
            for _ in range(20):
                got = await site.ask("GET", f"/clusters/{cluster['id']}", Authorization=f"Bearer {CANARY}")
                assert got.status == 401
            agent = site.agent_token(cluster["infra_env_id"])
            got = await site.ask("DELETE", f"/clusters/{cluster['id']}", X_Secret_Key=agent)
            assert got.status == 403
            got = await site.ask("PATCH", f"/clusters/{cluster['id']}", {"name": "beta"})
            assert got.status == 201
            found = records(caplog)
            by = {(each["event"], each["operation"]): each for each in found}
            assert [each["event"] for each in found].count("login-refused") == 1
            assert [each["event"] for each in found].count("refused") == 2, (
                "the same one counts once a minute"
            )
            assert by["refused", "v2DeregisterCluster"]["actor"] == f"medium:{cluster['infra_env_id']}"
            assert "persona medium" in by["refused", "v2DeregisterCluster"]["reason"]
            change = by["change", "V2UpdateCluster"]
            assert change["actor"].startswith("user:")
            assert change["client"] == "127.0.0.1"
            assert change["about"] == {"cluster_id": cluster["id"]}
            assert {"time", "request_id"} <= change.keys()
            assert not [each for each in (CANARY, agent, site.token) if each in caplog.text]

    play(scene)


def test_strangers_do_not_fill_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "muster.audit")

    async def scene() -> None:
        async with open_service(tmp_path) as site:
            for _ in range(3):
                got = await site.ask("GET", f"/clusters/{'%F0%9F%98%80' * 500}", Authorization="Bearer x")
                assert got.status == 401
            (found,) = records(caplog)
            assert found["about"] == {"cluster_id": ("\\U0001f600" * 10)}
            assert await site.make_cluster()

    play(scene)


def test_events_name_who_caused_them(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            cluster = await site.make_cluster()
            async with site.hosts(cluster["infra_env_id"], machines(1)):
                await site.until(cluster["id"], lambda each: bool(each.get("hosts")))
                events = (await site.ask("GET", f"/events?cluster_id={cluster['id']}")).json
            actors = {each["name"]: json.loads(each.get("props") or "{}").get("actor") for each in events}
            assert actors["cluster_registration_succeeded"].startswith("user:")
            assert any(each and each.startswith(("medium:", "host:")) for each in actors.values())

    play(scene)


def test_a_login_is_recorded_with_the_actor_of_its_changes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "muster.audit")

    async def scene() -> None:
        hashed = hash_password("a good long password", os.urandom)
        async with open_service(tmp_path, password_hash=hashed) as site:
            token = (await log_in(site, "a good long password")).json["token"]
            params = {"name": "env", "pull_secret": json.dumps({"auths": {}})}
            made = await site.ask("POST", "/infra-envs", params, Authorization=f"Bearer {token}")
            assert made.status == 201, made.body
            login, change = records(caplog)
            assert (login["event"], login["status"], change["event"]) == ("login", 201, "change")
            assert login["actor"] == change["actor"]
            assert login["actor"].startswith("user:")

    play(scene)


def test_viewers_see_no_secrets_and_change_nothing(tmp_path: Path) -> None:
    async def scene() -> None:
        hashed, viewer = hash_password("a good long password", os.urandom), hash_password(VIEWER, os.urandom)
        async with open_service(tmp_path, password_hash=hashed, viewer_hash=viewer) as site:
            cluster = await site.make_cluster()
            id, infra_env_id = cluster["id"], cluster["infra_env_id"]
            override = json.dumps({"ignition": {"version": "3.2.0"}, "passwd": {"users": [{"name": CANARY}]}})
            got = await site.ask(
                "PATCH", f"/infra-envs/{infra_env_id}", {"ignition_config_override": override}
            )
            assert got.status == 201, got.body
            proxy = f"http://user:{CANARY}@proxy.example.com:3128"
            got = await site.ask("PATCH", f"/clusters/{id}", {"http_proxy": proxy})
            assert got.status == 201, got.body
            answer = (await log_in(site, VIEWER)).json
            assert answer["persona"] == "watcher"
            as_viewer = {"Authorization": f"Bearer {answer['token']}"}
            looks = (f"/clusters/{id}", "/clusters", "/infra-envs", f"/events?cluster_id={id}")
            for path in (*looks, f"/clusters/{id}/why", f"/clusters/{id}/steps"):
                got = await site.ask("GET", path, **as_viewer)
                assert got.status == 200, (path, got.body)
                assert CANARY.encode() not in got.body, path
                assert b"download_url" not in got.body, path
            for method, path in (
                ("GET", f"/clusters/{id}/credentials"),
                ("GET", f"/clusters/{id}/downloads/credentials?file_name=kubeconfig"),
                ("GET", f"/clusters/{id}/downloads/credentials-presigned?file_name=kubeconfig"),
                ("GET", f"/infra-envs/{infra_env_id}/downloads/files?file_name=discovery.ign"),
                ("GET", f"/infra-envs/{infra_env_id}"),
                ("PATCH", f"/clusters/{id}"),
                ("DELETE", f"/clusters/{id}"),
                ("POST", f"/clusters/{id}/actions/install"),
            ):
                assert (await site.ask(method, path, **as_viewer)).status == 403, path

    play(scene)


def test_lost_commits_are_an_event_and_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        data, kept = tmp_path / "data", tmp_path / "kept"
        async with open_service(tmp_path) as site:
            cluster = await site.make_cluster()
            for number in range(5):
                await site.ask("PATCH", f"/clusters/{cluster['id']}", {"name": f"n{number}"})
            shutil.copytree(data, kept)
        shutil.rmtree(data)
        shutil.copytree(kept, data)
        wal = data / f"{FILE}-wal"
        wal.write_bytes(wal.read_bytes()[:-100])
        with closing(look_at(data)) as look:
            assert "lost commits" in look.lost
        async with open_service(tmp_path) as site:
            assert (await site.cluster(cluster["id"]))["name"] == "n3"
            got = (await site.ask("GET", "/ready")).json
            assert got["status"] == "ready"
            assert "lost commits that were acknowledged" in got["warnings"][0]
            events = (await site.ask("GET", f"/events?cluster_id={cluster['id']}")).json
            assert [each["severity"] for each in events if each["name"] == "commits_lost"] == ["critical"]
            assert "restore the database from a backup" in caplog.text
        async with open_service(tmp_path) as site:
            assert "warnings" not in (await site.ask("GET", "/ready")).json

    play(scene)
