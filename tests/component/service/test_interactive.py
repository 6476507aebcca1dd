# SPDX-License-Identifier: Apache-2.0
"""The service of a site without files: people make its one cluster of the hosts that met."""

from __future__ import annotations

import asyncio
import io
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

from muster.cli.host_rendezvous_interactive import laid_out
from muster.client.host_key import HostKey
from muster.model.host_key import KEY_HEADER
from muster.model.meeting import AGENT_TOKEN, PLATFORM, SERVICE_AUTHORITY
from muster.model.service_card import parse_card
from muster.service.interactive.serving import card_of
from muster.service.rendezvous.serving import serve_installed, wait_until_installed
from muster.serving.listen import open_socket, parse_endpoint
from tests.component.service.interactive import (
    CLUSTER,
    INFRA_ENV,
    NEW,
    install,
    joined,
    meeting,
    open_site,
    person_at,
    rendezvous_ip,
    tell,
)
from tests.component.service.whole import come, machines, play


def test_from_hosts_that_met_to_a_cluster_that_is_complete(tmp_path: Path) -> None:
    async def scene() -> None:
        hosts = machines(3)
        async with open_site(tmp_path) as site, site.hosts(INFRA_ENV, hosts):

            async def met() -> bool:
                return len([each for each in await site.pool() if each.get("inventory")]) == 3

            await come(met)
            made = await site.make(olm_operators=[{"name": "metrics-server"}])
            assert (made["id"], len(made["hosts"])) == (CLUSTER, 3)
            await joined(site, hosts)
            steps = await site.steps()
            assert [id for id, each in steps.items() if not each["ready"]] == ["credentials", "review"]
            end = await install(site, hosts)
            (bootstrap,) = (each for each in end["hosts"] if each.get("bootstrap"))
            assert rendezvous_ip() in bootstrap["inventory"]
            assert bootstrap["role"] == "master"
            watched = [each["name"] for each in end["monitored_operators"]]
            assert watched == [PLATFORM, "metrics-server"]
            for name in watched:
                await tell(site, name)
            await site.until(CLUSTER, lambda each: each["status"] == "installed")
            assert all(each["ready"] for each in (await site.steps()).values())

    play(scene)


def test_what_kind_of_service_it_is_and_when_each_host_did_what(tmp_path: Path) -> None:
    async def scene() -> None:
        hosts = machines(3)
        async with open_site(tmp_path) as site, site.hosts(INFRA_ENV, hosts):
            about = (await site.ask("GET", "/service", Authorization="")).json
            assert (about["mode"], about["cluster_id"]) == ("interactive", CLUSTER)
            assert about["fingerprint"] == card_of(site.running).fingerprint
            assert about["pull_secret_there"] is True
            await site.make()
            end = await install(site, hosts)
            timeline = (await site.ask("GET", f"/clusters/{CLUSTER}/timeline")).json
            assert {each["id"] for each in timeline["hosts"]} == {each["id"] for each in end["hosts"]}
            for each in timeline["hosts"]:
                assert each["stages"][-1]["stage"] == "Done"
                assert each["stages"][-1]["ended_at"]

    play(scene)


def test_the_chosen_add_ons_are_what_the_first_host_sets_up(tmp_path: Path) -> None:
    async def scene() -> None:
        hosts = machines(1)
        async with open_site(tmp_path) as site, site.hosts(INFRA_ENV, hosts):
            await site.make(
                control_plane_count=1,
                olm_operators=[{"name": "metrics-server"}],
                api_vips=[],
                ingress_vips=[],
            )
            await joined(site, hosts)
            await site.ask("POST", f"/clusters/{CLUSTER}/actions/install")
            await site.until(
                CLUSTER, lambda each: each["status"] not in ("ready", "preparing-for-installation")
            )
            id = (await site.cluster(CLUSTER))["hosts"][0]["id"]
            path = f"/infra-env/{INFRA_ENV}/hosts/{id}/downloads/ignition"
            ignition = await site.ask("GET", path)
            assert ignition.status == 200, ignition.body
            assert b"metrics-server" in ignition.body

    play(scene)


def test_everything_to_keep_is_one_file_and_its_password_opens_the_door(tmp_path: Path) -> None:
    async def scene() -> None:
        hosts = machines(1)
        async with open_site(tmp_path) as site, site.hosts(INFRA_ENV, hosts):
            await site.make(control_plane_count=1, api_vips=[], ingress_vips=[])
            await joined(site, hosts)
            got = await site.ask("GET", f"/clusters/{CLUSTER}/downloads/everything")
            assert got.status == 200, got.body
            with zipfile.ZipFile(io.BytesIO(got.body)) as archive:
                files = {name.rpartition("/")[2]: archive.read(name).decode() for name in archive.namelist()}
            assert "https://api.alpha.example.com:6443" in files["kubeconfig"]
            assert f"{rendezvous_ip()} api.alpha.example.com" in files["hosts"]
            assert "api.alpha.example.com" in files["README.txt"]
            password = files["kubeadmin-password"]

            async def is_let_in() -> bool:
                proof = {"password": password, "cookie": True}
                answer = await site.ask("POST", "/login", proof, Authorization="")
                return answer.status == 201

            await come(is_let_in)
            # Another name: the same password, another kubeconfig, and the step says so.
            await site.ask("PATCH", f"/clusters/{CLUSTER}", {"name": "beta"})
            (block,) = (await site.steps())["credentials"]["blocked_by"]
            assert "is for alpha.example.com" in block["message"]
            path = f"/clusters/{CLUSTER}/downloads/credentials?file_name="
            assert (await site.ask("GET", path + "kubeadmin-password")).body.decode() == password
            assert b"api.beta.example.com" in (await site.ask("GET", path + "kubeconfig")).body
            assert (await site.steps())["credentials"]["ready"]
            farewell = (await site.ask("GET", f"/clusters/{CLUSTER}/farewell")).json
            assert farewell["credentials_taken"] is True
            assert farewell["rendezvous"]["ip"] == rendezvous_ip()

    play(scene)


def test_there_is_one_cluster_and_what_is_for_many_is_refused(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_site(tmp_path) as site:
            assert (await site.ask("GET", f"/clusters/{CLUSTER}")).status == 404
            bad = await site.ask(
                "POST", "/clusters", {**NEW, "name": "Not A Name", "openshift_version": site.version}
            )
            assert bad.status == 400
            assert bad.json["reason"].startswith("name: ")
            await site.make()
            again = await site.ask("POST", "/clusters", {**NEW, "openshift_version": site.version})
            assert again.status == 409
            for method, path, body in (
                ("POST", "/infra-envs", {"name": "x", "pull_secret": ""}),
                ("DELETE", f"/infra-envs/{INFRA_ENV}", None),
                ("POST", "/clusters/disconnected", {"name": "x", "openshift_version": "1"}),
                (
                    "POST",
                    "/clusters/import",
                    {"name": "x", "api_vip_dnsname": "a.example.com", "openshift_cluster_id": CLUSTER},
                ),
            ):
                got = await site.ask(method, path, body)
                assert (path, got.status) == (path, 409), got.body
                assert got.json["hint"]

    play(scene)


def test_the_rendezvous_host_stays_of_the_control_plane(tmp_path: Path) -> None:
    async def scene() -> None:
        hosts = machines(3)
        async with open_site(tmp_path) as site, site.hosts(INFRA_ENV, hosts):
            await site.make()
            await joined(site, hosts)
            found = (await site.cluster(CLUSTER))["hosts"]
            first = next(each for each in found if rendezvous_ip() in each["inventory"])
            other = next(each for each in found if rendezvous_ip() not in each["inventory"])
            path = f"/infra-envs/{INFRA_ENV}/hosts"
            got = await site.ask("PATCH", f"{path}/{first['id']}", {"host_role": "worker"})
            assert got.status == 409
            assert "rendezvous host" in got.json["reason"]
            assert (await site.ask("PATCH", f"{path}/{first['id']}", {"host_name": "one"})).status == 201
            assert (await site.ask("PATCH", f"{path}/{other['id']}", {"host_role": "worker"})).status == 201

    play(scene)


def test_all_begins_again_also_after_a_restart(tmp_path: Path) -> None:
    async def scene() -> None:
        hosts = machines(3)
        async with open_site(tmp_path) as site, site.hosts(INFRA_ENV, hosts):
            await site.make()
            await joined(site, hosts)
            await site.ask("GET", f"/clusters/{CLUSTER}/downloads/everything")
            await site.ask("POST", f"/clusters/{CLUSTER}/actions/install")
            await site.until(CLUSTER, lambda each: each["status"] == "installing")
            got = await site.ask("POST", "/start-over")
            assert got.status == 202, got.body
            assert (await site.ask("GET", "/clusters")).json == []
            assert (await site.ask("POST", "/start-over")).status == 202
        async with open_site(tmp_path) as site, site.hosts(INFRA_ENV, machines(3)):
            made = await site.make(name="beta")
            assert made["id"] == CLUSTER
            await joined(site, hosts)
            assert not (await site.steps())["credentials"]["ready"]

    play(scene)


def test_after_the_restart_of_its_host_the_end_is_shown_and_nothing_can_be_changed(tmp_path: Path) -> None:
    async def scene() -> None:
        hosts = machines(1)
        async with open_site(tmp_path) as site:
            cookie = site.token
            fingerprint = site.running.identity.fingerprint
            async with site.hosts(INFRA_ENV, hosts):
                await site.make(control_plane_count=1, api_vips=[], ingress_vips=[])
                await install(site, hosts)
            version = site.version
        shutil.copytree(tmp_path / "data", tmp_path / "disk")
        with open_socket(parse_endpoint("127.0.0.1:0")) as listening:
            url = f"https://127.0.0.1:{listening.getsockname()[1]}"
            async with (
                serve_installed(tmp_path / "disk", listening) as running,
                person_at(running, url, version) as site,
            ):
                assert running.identity.fingerprint == fingerprint
                site.token = cookie  # The session of before.
                about = (await site.ask("GET", "/service")).json
                assert about["mode"] == "status"
                assert "password" in (await site.ask("GET", "/login", Authorization="")).json["ways"]
                refused = await site.ask("POST", "/start-over")
                assert (refused.status, "restarted" in refused.json["reason"]) == (409, True)
                refused = await site.ask("PATCH", f"/clusters/{CLUSTER}", {"name": "other"})
                assert refused.status == 409
                zipped = await site.ask("GET", f"/clusters/{CLUSTER}/downloads/everything")
                assert zipped.status == 200, zipped.body
                over = asyncio.ensure_future(wait_until_installed(running, CLUSTER))
                await tell(site, PLATFORM)
                await over

    play(scene)


def test_hosts_without_a_cluster_may_ask_for_it(tmp_path: Path) -> None:
    async def scene() -> None:
        host = "0f8fad5b-d9cb-469f-a165-70867728950e"
        async with open_site(tmp_path) as site:
            keys = {"X_Secret_Key": site.medium, KEY_HEADER: HostKey(b"1" * 32).public}
            got = await site.ask("POST", f"/infra-envs/{INFRA_ENV}/hosts", {"host_id": host}, **keys)
            own = got.headers["x-muster-host-token"]
            assert (await site.ask("GET", f"/clusters/{CLUSTER}", X_Secret_Key=own)).status == 404
            await site.make()
            assert (await site.ask("GET", f"/clusters/{CLUSTER}", X_Secret_Key=own)).status == 200
            assert json.loads((await site.ask("GET", "/clusters")).body)[0]["id"] == CLUSTER

    play(scene)


BAD: tuple[tuple[str, str, Any], ...] = (
    ("POST", "/nmstate/validate", {}),
    ("POST", "/nmstate/validate", {"hosts": "all"}),
    ("POST", "/nmstate/validate", {"hosts": [{"network_yaml": 1}]}),
    ("POST", "/manifests/validate", {"file_name": "a.yaml"}),
    ("POST", "/manifests/validate", []),
    ("GET", "/add-ons", None),
    ("GET", f"/clusters/{CLUSTER}/hosts/nobody/log?lines=0", None),
    ("GET", f"/clusters/{CLUSTER}/hosts/nobody/log?lines=many", None),
    ("GET", f"/clusters/{CLUSTER}/hosts/nobody/log?after=-1", None),
)
MISSING = (
    *(f"/clusters/none/{each}" for each in ("add-ons", "farewell", "timeline", "downloads/everything")),
    f"/clusters/{CLUSTER}/hosts/nobody/log",
    "/clusters/none/hosts/nobody/log",
)


def test_nonsense_is_refused_with_a_reason(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_site(tmp_path) as site:
            await site.make()
            for method, path, body in BAD:
                got = await site.ask(method, path, body)
                assert (path, got.status) == (path, 400), got.body
                assert got.json["reason"]
            for path in MISSING:
                got = await site.ask("GET", path)
                assert (path, got.status) == (path, 404), got.body
            unknown = (await site.ask("GET", "/add-ons?openshift_version=9.9.9")).json
            assert "9.9.9" in unknown["trouble"]
            known = (await site.ask("GET", f"/add-ons?openshift_version={site.version}")).json
            assert {each["id"] for each in known["add_ons"]} == {"metrics-server", "traefik"}
            nameless = await site.ask("PATCH", f"/clusters/{CLUSTER}", {"base_dns_domain": ""})
            assert nameless.status == 201
            refused = await site.ask("GET", f"/clusters/{CLUSTER}/downloads/everything")
            assert (refused.status, "domain" in refused.json["reason"]) == (409, True)

    play(scene)


def test_what_is_written_is_judged_and_a_pull_secret_may_be_wrapped(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_site(tmp_path) as site:
            await site.make()
            text = {"file_name": "a.yaml", "content": "a: [1"}
            report = (await site.ask("POST", "/manifests/validate", text)).json
            assert report["valid"] is False
            assert report["problems"][0]["line"] == 1
            networks = {"hosts": [{"network_yaml": "interfaces: {}", "mac_interface_map": []}]}
            report = (await site.ask("POST", "/nmstate/validate", networks)).json
            assert report["valid"] is False
            wrapped = '{"auths": {"registry.exam\nple.com": {"auth": "dXNlcjpz\r\nZWNyZXQ="}}}'
            got = await site.ask("PATCH", f"/clusters/{CLUSTER}", {"pull_secret": wrapped})
            assert got.status == 201, got.body
            sealed = site.running.engine.cluster(CLUSTER).pull_secret
            opened = site.running.service.around.vault.open(CLUSTER, "pull_secret", sealed)
            assert json.loads(opened) == {"auths": {"registry.example.com": {"auth": "dXNlcjpzZWNyZXQ="}}}

    play(scene)


def test_a_host_tells_its_journal_to_those_who_watch(tmp_path: Path) -> None:
    async def scene() -> None:
        host = "0f8fad5b-d9cb-469f-a165-70867728950e"
        async with open_site(tmp_path) as site:
            await site.make()
            path = f"/infra-envs/{INFRA_ENV}/hosts"
            keys = {"X_Secret_Key": site.medium, KEY_HEADER: HostKey(b"1" * 32).public}
            got = await site.ask("POST", path, {"host_id": host}, **keys)
            own = got.headers["x-muster-host-token"]
            log = f"/clusters/{CLUSTER}/hosts/{host}/log"
            assert (await site.ask("GET", log)).json["lines"] == []
            lines = {"lines": ["the disk is slow", "all well"]}
            told = await site.ask("PUT", f"{path}/{host}/log-lines", lines, X_Secret_Key=own)
            assert told.status == 204, told.body
            shown = (await site.ask("GET", log)).json
            assert (shown["lines"], shown["live"], shown["next"]) == (lines["lines"], True, 2)
            assert (await site.ask("GET", f"{log}?filter=DISK")).json["lines"] == ["the disk is slow"]
            assert (await site.ask("GET", f"{log}?after=1")).json["lines"] == ["all well"]
            assert (await site.ask("PUT", f"{path}/{host}/log-lines", lines)).status == 403
            waiting = asyncio.ensure_future(site.ask("GET", f"{log}?after=2", Prefer="wait=60"))
            await come(lambda: "log/" + host in site.running.service.news._waiting)
            assert site.running.service.news.waiting == 0
            more = {"lines": ["it ends"]}
            assert (await site.ask("PUT", f"{path}/{host}/log-lines", more, X_Secret_Key=own)).status == 204
            assert (await waiting).json["lines"] == ["it ends"]

    play(scene)


def test_other_hosts_and_the_console_find_what_they_need(tmp_path: Path) -> None:
    async def scene() -> None:
        root = tmp_path / "root"
        (root / "run/muster").mkdir(parents=True)
        async with open_site(tmp_path) as site:
            async with laid_out(site.running, meeting(), root):
                card = parse_card((root / "run/muster/service.json").read_bytes())
                assert card is not None
                assert card.fingerprint == site.running.identity.fingerprint
                assert (root / SERVICE_AUTHORITY.lstrip("/")).read_text() == card.authority
                token = root / AGENT_TOKEN.lstrip("/")
                assert token.stat().st_mode & 0o777 == 0o600
                body = {"host_id": "0f8fad5b-d9cb-469f-a165-70867728950e"}
                path = f"/infra-envs/{INFRA_ENV}/hosts"
                keys = {"X_Secret_Key": token.read_text(), KEY_HEADER: HostKey(b"1" * 32).public}
                got = await site.ask("POST", path, body, **keys)
                assert got.status == 201, got.body
            assert not (root / "run/muster/service.json").exists()

    play(scene)
