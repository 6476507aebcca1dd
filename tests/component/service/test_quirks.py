# SPDX-License-Identifier: Apache-2.0
"""What clients of this interface have got used to, and what is ours beside it: each over TLS."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from muster.service.auth.personas import Grant, Persona, Scope
from muster.service.steps import peers
from tests.component.service.test_personas import HOSTS, Place, furnish, register
from tests.component.service.whole import API, Whole, come, machines, open_service, play
from tests.discovery import NETWORK

Story = Callable[[Whole, Place], Awaitable[None]]


def tell(folder: Path, story: Story) -> None:
    """A service with a cluster, an infra-env and a host, for a story."""

    async def scene() -> None:
        async with open_service(folder) as site:
            await story(site, await furnish(site, "alpha", HOSTS[0]))

    play(scene)


# What outlives what


def test_hosts_wait_in_an_infra_env_whose_cluster_was_deleted(tmp_path: Path) -> None:
    async def story(site: Whole, here: Place) -> None:
        assert (await site.ask("DELETE", f"/clusters/{here.cluster_id}")).status == 204
        shown = (await site.ask("GET", f"/infra-envs/{here.infra_env_id}")).json
        assert "cluster_id" not in shown
        await register(site, here)
        path = f"/infra-envs/{here.infra_env_id}/hosts/{here.host_id}"
        host = (await site.ask("GET", path)).json
        assert (host["status"], host.get("cluster_id")) == ("discovering-unbound", None)

    tell(tmp_path, story)


def test_an_infra_env_that_was_made_while_its_cluster_was_deleted(tmp_path: Path) -> None:
    async def story(site: Whole, here: Place) -> None:
        service = site.running.service
        await site.ask("DELETE", f"/clusters/{here.cluster_id}")
        await service.change(
            lambda: service.engine.realm_of("infra-env", here.infra_env_id),
            lambda draft: draft.change(draft.infra_env, cluster_id=here.cluster_id),
        )
        await register(site, here)
        assert service.engine.infra_env(here.infra_env_id).cluster_id is None

    tell(tmp_path, story)


def test_a_host_shows_all_its_peers_even_if_it_checked_them_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "FAN_OUT", 1)

    async def scene() -> None:
        async with open_service(tmp_path) as site:
            made = await site.make_cluster()
            path = f"/infra-envs/{made['infra_env_id']}/hosts"
            async with site.hosts(made["infra_env_id"], machines(4)):
                await come(lambda: _are_all_shown(site, path))

    play(scene)


async def _are_all_shown(site: Whole, path: str) -> bool:
    hosts = (await site.ask("GET", path)).json
    ids = {each["id"] for each in hosts}
    told = {each["id"]: json.loads(each.get("connectivity") or "{}") for each in hosts}
    shown = {id: [one["host_id"] for one in told[id].get("remote_hosts", ())] for id in told}
    return len(ids) == 4 and all(sorted(shown[id]) == sorted(ids - {id}) for id in ids)


def test_validations_that_the_settings_switch_off_are_so_after_a_start(tmp_path: Path) -> None:
    id = "dns-domain-defined"

    async def look(path: str = "", **settings: Any) -> tuple[str, str]:
        """What is said of a cluster without a domain; the cluster is made first where there is none."""
        async with open_service(tmp_path, **settings) as site:
            path = path or f"/clusters/{(await site.make_cluster(base_dns_domain=''))['id']}"
            shown = json.loads((await site.ask("GET", path)).json["validations_info"])
            return path, next(each["status"] for part in shown.values() for each in part if each["id"] == id)

    async def scene() -> None:
        path, first = await look()
        _, second = await look(path, disabled=frozenset({id}))
        _, third = await look(path)
        assert (first, second, third) == ("failure", "disabled", "failure")

    play(scene)


# Addresses


def test_slashes_do_not_count(tmp_path: Path) -> None:
    async def story(site: Whole, here: Place) -> None:
        for path in (
            "/clusters/",
            "//clusters",
            "/clusters//default-config",
            f"/clusters/{here.cluster_id}/",
            f"/infra-envs/{here.infra_env_id}/hosts/",
            f"//infra-envs//{here.infra_env_id}//hosts//",
        ):
            assert (await site.ask("GET", path)).status == 200, path
        got = await site.ask("PATCH", f"/clusters/{here.cluster_id}/", {"tags": "a"})
        assert (got.status, got.json["tags"]) == (201, "a")

    tell(tmp_path, story)


def test_one_path_says_infra_env(tmp_path: Path) -> None:
    async def story(site: Whole, here: Place) -> None:
        tail = f"/{here.infra_env_id}/hosts/{here.host_id}/downloads/ignition"
        got = await site.ask("GET", f"/infra-env{tail}")
        assert (got.status, "when its installation begins" in got.json["reason"]) == (404, True)
        got = await site.ask("GET", f"/infra-envs{tail}")
        assert (got.status, "there is no" in got.json["reason"]) == (404, True)

    tell(tmp_path, story)


def test_a_token_needs_no_bearer(tmp_path: Path) -> None:
    async def story(site: Whole, _here: Place) -> None:
        for text in (site.token, f"Bearer {site.token}", f"bearer {site.token}"):
            assert (await site.ask("GET", "/clusters", Authorization=text)).status == 200

    tell(tmp_path, story)


# Bodies


def test_json_in_strings_stays_in_strings(tmp_path: Path) -> None:
    async def story(site: Whole, here: Place) -> None:
        card = {"mac_address": "52:54:00:ad:00:0a", "logical_nic_name": "eth0"}
        network = {"network_yaml": NETWORK.replace("{0}", "10"), "mac_interface_map": [card]}
        argument = {"operation": "append", "value": "quiet"}
        change = {"static_network_config": [network], "kernel_arguments": [argument]}
        got = await site.ask("PATCH", f"/infra-envs/{here.infra_env_id}", change)
        assert json.loads(got.json["static_network_config"]) == [network]
        assert json.loads(got.json["kernel_arguments"]) == [argument]
        async with site.hosts(here.infra_env_id, machines(1)):
            host = await _told(site, here)
        for name in ("inventory", "validations_info"):
            assert json.loads(host[name]), name
        cluster = await site.cluster(here.cluster_id)
        for name in ("validations_info", "connectivity_majority_groups", "ip_collisions", "feature_usage"):
            assert isinstance(json.loads(cluster[name]), dict), name

    tell(tmp_path, story)


async def _told(site: Whole, here: Place) -> dict[str, Any]:
    """The first host that has told what it is made of."""
    while True:
        for host in (await site.ask("GET", f"/infra-envs/{here.infra_env_id}/hosts")).json:
            if "inventory" in host:
                found: dict[str, Any] = host
                return found
        await asyncio.sleep(0.05)


def test_ignored_validations_as_text_and_as_a_list(tmp_path: Path) -> None:
    async def story(site: Whole, here: Place) -> None:
        path = f"/clusters/{here.cluster_id}/ignored-validations"
        for ids in ('["ntp-synced"]', ["ntp-synced"], "ntp-synced"):
            got = await site.ask("PUT", path, {"host-validation-ids": ids})
            assert (got.status, got.json["host-validation-ids"]) == (201, '["ntp-synced"]')
        for wrong in ("{", '["connected"]', "[1]"):
            assert (await site.ask("PUT", path, {"host-validation-ids": wrong})).status == 400, wrong

    tell(tmp_path, story)


def test_a_time_that_has_not_come_is_the_first_of_all_times(tmp_path: Path) -> None:
    async def story(site: Whole, here: Place) -> None:
        cluster = await site.cluster(here.cluster_id)
        assert cluster["install_completed_at"] == "0001-01-01T00:00:00Z"
        assert cluster["install_started_at"] == "0001-01-01T00:00:00Z"

    tell(tmp_path, story)


def test_changes_answer_with_201(tmp_path: Path) -> None:
    async def story(site: Whole, here: Place) -> None:
        cluster, env = f"/clusters/{here.cluster_id}", f"/infra-envs/{here.infra_env_id}"
        host = f"{env}/hosts/{here.host_id}"
        manifest = {"file_name": "a.yaml", "content": "a2luZDogQQo=", "folder": "manifests"}
        for wanted, method, path, body in (
            (201, "PATCH", cluster, {}),
            (201, "PATCH", env, {}),
            (201, "PATCH", host, {}),
            (201, "PATCH", f"{host}/ignition", {"config": ""}),
            (201, "PATCH", f"{host}/installer-args", {"args": []}),
            (201, "PATCH", f"{cluster}/install-config", "{}"),
            (201, "POST", f"{cluster}/manifests", manifest),
            (200, "PATCH", f"{cluster}/manifests", {"file_name": "a.yaml", "folder": "manifests"}),
            (200, "DELETE", f"{cluster}/manifests?file_name=a.yaml", None),
            (201, "PUT", f"{cluster}/ignored-validations", {}),
            (200, "PUT", f"{cluster}/ui-settings", "{}"),
            (204, "POST", f"{env}/regenerate-signing-key", None),
            (200, "POST", f"{host}/actions/reset", None),
            (204, "DELETE", host, None),
            (204, "DELETE", cluster, None),
        ):
            got = await site.ask(method, path, body)
            assert got.status == wanted, (method, path, got.body)

    tell(tmp_path, story)


def test_errors_have_two_shapes(tmp_path: Path) -> None:
    async def story(site: Whole, here: Place) -> None:
        missing = await site.ask("GET", f"/clusters/{here.host_id}")
        assert missing.json == {
            "kind": "Error",
            "id": 404,
            "href": "",
            "code": "404",
            "reason": missing.json["reason"],
            "hint": "list what is there",
        }
        for status, got in (
            (404, await site.ask("GET", "/nothing")),
            (404, await site.ask("GET", "/clusters/none-at-all")),
            (400, await site.ask("POST", "/clusters", {"name": 1})),
            (400, await site.ask("GET", "/events?limit=-2")),
            (409, await site.ask("POST", f"/clusters/{here.cluster_id}/actions/install")),
            (405, await site.ask("PUT", "/clusters")),
        ):
            assert (got.status, got.json["id"], got.json["code"]) == (status, status, str(status)), got.body
            assert set(got.json) - {"hint"} == {"kind", "id", "href", "code", "reason"}
        assert (await site.ask("PUT", "/clusters")).headers["allow"] == "GET, POST"
        for status, token in ((401, "garbage"), (403, site.agent_token(here.infra_env_id))):
            got = await site.ask("GET", "/clusters", Authorization=token)
            assert (got.status, got.json["code"], set(got.json)) == (status, status, {"code", "message"})

    tell(tmp_path, story)


# Headers


def test_events_are_counted_in_headers(tmp_path: Path) -> None:
    async def story(site: Whole, here: Place) -> None:
        path = f"/events?cluster_id={here.cluster_id}"
        everything = await site.ask("GET", path)
        counts = {word: int(everything.headers[f"Severity-Count-{word}"]) for word in _SEVERITIES}
        assert sum(counts.values()) == int(everything.headers["Event-Count"]) == len(everything.json)
        assert counts["Info"] == [each["severity"] for each in everything.json].count("info") > 1
        part = await site.ask("GET", f"{path}&limit=1&offset=1&order=descending")
        assert part.json == [everything.json[-2]]
        assert part.headers["Event-Count"] == everything.headers["Event-Count"]
        for query in ("severities=info,warning", "severities=info&severities=warning"):
            found = await site.ask("GET", f"{path}&{query}")
            assert len(found.json) == counts["Info"] + counts["Warning"]
        assert (await site.ask("GET", f"{path}&host_ids={here.host_id}&cluster_level=false")).json
        assert (await site.ask("GET", f"{path}&message=Registered%20cluster")).headers["Event-Count"] == "1"

    tell(tmp_path, story)


_SEVERITIES = ("Info", "Warning", "Error", "Critical")


def test_what_is_known_already_is_not_sent_again(tmp_path: Path) -> None:
    async def story(site: Whole, here: Place) -> None:
        path = f"/clusters/{here.cluster_id}/ignored-validations"
        first = await site.ask("GET", path)
        tag = first.headers["etag"]
        for known in (tag, f'"other", {tag}', "*"):
            again = await site.ask("GET", path, If_None_Match=known)
            assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
        assert (await site.ask("HEAD", path)).headers["etag"] == tag
        await site.ask("PUT", path, {"host-validation-ids": '["ntp-synced"]'})
        changed = await site.ask("GET", path, If_None_Match=tag)
        assert (changed.status, changed.headers["etag"] != tag) == (200, True)

    tell(tmp_path, story)


def test_a_request_has_a_name_that_events_tell(tmp_path: Path) -> None:
    async def story(site: Whole, here: Place) -> None:
        path = f"/infra-envs/{here.infra_env_id}/hosts/{here.host_id}"
        got = await site.ask("PATCH", path, {"host_role": "worker"}, X_Request_ID="mine-1")
        assert got.headers["x-request-id"] == "mine-1"
        events = (await site.ask("GET", f"/events?cluster_id={here.cluster_id}")).json
        assert "mine-1" in {each.get("request_id") for each in events}

    tell(tmp_path, story)


# Waiting


def test_an_agent_waits_until_there_is_something_to_do(tmp_path: Path) -> None:
    async def story(site: Whole, here: Place) -> None:
        path = f"/infra-envs/{here.infra_env_id}/hosts/{here.host_id}"
        token = await register(site, here)

        async def poll(wait: int) -> Any:
            prefer = {"Prefer": f"wait={wait}"} if wait else {}
            return (await site.ask("GET", f"{path}/instructions", X_Secret_Key=token, **prefer)).json

        first = await poll(60)
        assert "inventory" in [each["step_type"] for each in first["instructions"]]
        # What was handed out is not handed out again, and whoever does not wait hears so at once.
        assert (await poll(0))["instructions"] == []
        waiting = asyncio.ensure_future(poll(60))
        await _until_somebody_waits(site)
        assert not waiting.done()
        # An agent that starts anew is told everything anew, and whoever waited is called.
        await site.ask("DELETE", path)
        assert (await waiting)["code"] == "404"

    tell(tmp_path, story)


async def _until_somebody_waits(site: Whole) -> None:
    while True:
        if site.running.service.news.waiting:
            return
        await asyncio.sleep(0.01)


# The stream


@contextlib.asynccontextmanager
async def follow(site: Whole, **headers: str) -> AsyncIterator[aiohttp.ClientResponse]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    named.setdefault("Authorization", f"Bearer {site.token}")
    async with site.session.get(f"{site.running.url}{API}/stream", headers=named) as got:
        assert (got.status, got.headers["content-type"]) == (200, "text/event-stream")
        assert await _next(got) == {"retry": "1000"}
        yield got


async def _next(got: aiohttp.ClientResponse) -> dict[str, str]:
    """The next event: its lines up to an empty one."""
    found: dict[str, str] = {}
    while line := (await got.content.readline()).decode().rstrip("\n"):
        name, _, value = line.partition(": ")
        found[name] = value
    return found


def test_the_stream_tells_what_changed(tmp_path: Path) -> None:
    async def story(site: Whole, here: Place) -> None:
        cluster = f"/clusters/{here.cluster_id}"
        async with follow(site) as got:
            await site.ask("PATCH", cluster, {"tags": "a"})
            first = await _next(got)
            data = json.loads(first["data"])
            assert (first["event"], data["realm"]) == ("change", here.cluster_id)
            assert f"cluster/{here.cluster_id}" in data["subjects"]
        await site.ask("PATCH", cluster, {"tags": "b"})
        await site.ask("PATCH", cluster, {"tags": "c"})
        async with follow(site, Last_Event_ID=first["id"]) as got:
            missed = [await _next(got), await _next(got)]
            assert [int(each["id"]) for each in missed] == [int(first["id"]) + 1, int(first["id"]) + 2]
        async with follow(site, Last_Event_ID="1000000") as got:
            assert (await _next(got))["event"] == "reset"
        assert (await site.ask("GET", "/stream?after=x")).status == 400

    tell(tmp_path, story)


def test_the_stream_tells_of_what_a_token_is_for(tmp_path: Path) -> None:
    async def story(site: Whole, here: Place) -> None:
        other = await furnish(site, "beta", HOSTS[2])
        grant = Grant(Persona.WATCHER, Scope(cluster_id=here.cluster_id), time.time() + 3600)
        token = site.running.tokens.issue(grant)
        async with follow(site, Authorization=token) as got:
            await site.ask("PATCH", f"/clusters/{other.cluster_id}", {"tags": "a"})
            await site.ask("PATCH", f"/clusters/{here.cluster_id}", {"tags": "a"})
            assert json.loads((await _next(got))["data"])["realm"] == here.cluster_id

    tell(tmp_path, story)
