# SPDX-License-Identifier: Apache-2.0
"""A site that installs itself: the real service, hosts over sockets, and nobody who asks for anything."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from muster.client.calls import Calls, Refused, open_calls
from muster.client.host import HostCalls, Medium
from muster.client.host_key import HostKey
from muster.client.target import Target
from muster.clock import Change
from muster.image.tokens import Tokens, build_tokens
from muster.lab.sim.machines import Machine
from muster.model.host import Host, RootDeviceHints
from muster.model.meeting import PLATFORM, Meeting
from muster.model.site import SiteHost
from muster.model.wire.cluster import ApiVip, ClusterCreateParams, IngressVip
from muster.model.wire.infra_env import InfraEnvCreateParams
from muster.service.hosting import now
from muster.service.rendezvous.left_behind import MOST
from muster.service.rendezvous.unattended import Course, Unattended
from muster.service.site_order import Wish
from muster.service.state import AddOn
from tests.component.service.whole import PULL_SECRET, Whole, come, machines, open_service, play
from tests.seeds import fixed_secrets

MEETING = Meeting(
    ip_address("192.0.2.10"), "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
)


def course(site: Whole, hosts: Sequence[Machine], hints: RootDeviceHints | None = None) -> Course:
    return Course(
        meeting=MEETING,
        cluster=ClusterCreateParams(
            name="shop",
            openshift_version=site.version,
            pull_secret=PULL_SECRET,
            base_dns_domain="example.com",
            api_vips=(ApiVip(ip="192.0.2.200"),),
            ingress_vips=(IngressVip(ip="192.0.2.201"),),
        ),
        infra_env=InfraEnvCreateParams(name="shop", pull_secret=PULL_SECRET, cluster_id=MEETING.cluster_id),
        wishes=tuple(_wish(number, host, hints) for number, host in enumerate(hosts)),
        expected=len(hosts),
    )


def _wish(number: int, host: Machine, hints: RootDeviceHints | None) -> Wish:
    macs = frozenset((card.mac_address or "").lower() for card in host.inventory.interfaces or ())
    return Wish(
        label=f"host {number}",
        macs=macs,
        hostname=f"shop-{number}",
        role="master",
        hints=hints,
        fencing=None,
        described=SiteHost(number, Host()),
        place="agent-config.yaml:12",
    )


@asynccontextmanager
async def going(*works: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Something goes on until the body ends."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        for found in await asyncio.gather(*tasks, return_exceptions=True):
            assert found is None or isinstance(found, asyncio.CancelledError), found


@asynccontextmanager
async def unattended(site: Whole, wanted: Course, clock: Change | None = None) -> AsyncIterator[None]:
    """A site whose release is there at once."""
    player = Unattended(site.running.service, wanted, clock)
    async with going(player.run(), player.note_release(())):
        yield


async def events(site: Whole) -> list[dict[str, Any]]:
    got = await site.ask("GET", f"/events?cluster_id={MEETING.cluster_id}")
    found: list[dict[str, Any]] = got.json
    return found


async def made(site: Whole) -> None:
    async def is_there() -> bool:
        return (await site.ask("GET", f"/infra-envs/{MEETING.infra_env_id}")).status == 200

    await come(is_there)


def test_a_site_installs_itself_with_the_names_that_its_files_say(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            hosts = machines(3)
            async with unattended(site, course(site, hosts)):
                await made(site)
                async with site.hosts(MEETING.infra_env_id, hosts):
                    found = await site.until(MEETING.cluster_id, lambda each: each["status"] == "finalizing")
                    assert {each["requested_hostname"] for each in found["hosts"]} == {
                        "shop-0",
                        "shop-1",
                        "shop-2",
                    }
                    token = await site.controller_token(MEETING.cluster_id)
                    body = {"name": PLATFORM, "status": "available", "status_info": "all of it is set up"}
                    path = f"/clusters/{MEETING.cluster_id}/monitored-operators"
                    told = await site.ask("PUT", path, body, X_Secret_Key=token)
                    assert told.status == 200, told.body
                    await site.until(MEETING.cluster_id, lambda each: each["status"] == "installed")

    play(scene)


def test_what_is_on_top_is_waited_for_and_may_fail_with_its_reason(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            hosts = machines(3)
            async with unattended(site, dataclasses.replace(course(site, hosts), on_top=("traefik",))):
                await made(site)
                async with site.hosts(MEETING.infra_env_id, hosts):
                    await site.until(MEETING.cluster_id, lambda each: each["status"] == "finalizing")
                    token = await site.controller_token(MEETING.cluster_id)

                    async def tell(name: str, status: str, info: str) -> None:
                        body = {"name": name, "status": status, "status_info": info}
                        path = f"/clusters/{MEETING.cluster_id}/monitored-operators"
                        told = await site.ask("PUT", path, body, X_Secret_Key=token)
                        assert told.status == 200, told.body

                    await tell(PLATFORM, "available", "all of it is set up")
                    await tell("traefik", "progressing", "1 of 2 pods ready")
                    why = await site.ask("GET", f"/clusters/{MEETING.cluster_id}/why")
                    assert "traefik (1 of 2 pods ready)" in why.json["summary"]
                    await tell("traefik", "failed", "not ready after 30 minutes: no such image")
                    end = await site.until(MEETING.cluster_id, lambda each: each["status"] == "installed")
                    assert "traefik (not ready after 30 minutes: no such image)" in end["status_info"]

    play(scene)


def test_add_ons_that_need_more_than_hosts_have_are_waited_with(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            hosts = machines(3)
            driving = Unattended(site.running.service, course(site, hosts))
            # It is told before there is a cluster: the release may be there first.
            told = driving.note_release((AddOn(id="mill", ram_mib=10**6),))
            async with going(told, driving.run()), site.hosts(MEETING.infra_env_id, hosts):

                async def is_told() -> bool:
                    return len((await reasons(site)).get("has-memory-for-role", {}).get("hosts", ())) == 3

                await come(is_told)
                reason = (await reasons(site))["has-memory-for-role"]
                assert "1000000 MiB of them for the add-ons mill" in reason["hosts"][0]["message"]
                assert "add-ons" in reason["fix"]
                await driving.note_release((AddOn(id="mill", ram_mib=1, disk_mib=10**9),))

                async def has_no_disk() -> bool:
                    return "has-min-valid-disks" in await reasons(site)

                await come(has_no_disk)
                await driving.note_release((AddOn(id="mill", ram_mib=1),))
                await site.until(MEETING.cluster_id, lambda each: each["status"] == "finalizing")

    play(scene)


async def reasons(site: Whole) -> dict[str, dict[str, Any]]:
    got = await site.ask("GET", f"/clusters/{MEETING.cluster_id}/why")
    return {each["id"]: each for each in got.json["reasons"]}


def test_a_hint_that_no_disk_matches_stops_and_is_told(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            hosts = machines(3)
            hints = RootDeviceHints(serial_number="NO-SUCH-DISK")
            async with unattended(site, course(site, hosts, hints)):
                await made(site)
                async with site.hosts(MEETING.infra_env_id, hosts):

                    async def is_told() -> bool:
                        return len((await reasons(site)).get("matches-site-files", {}).get("hosts", ())) == 3

                    await come(is_told)
                    reason = (await reasons(site))["matches-site-files"]
                    disk = (hosts[0].inventory.disks or ())[0]
                    said = next(each["message"] for each in reason["hosts"] if each["name"] == "shop-0")
                    assert "serialNumber: NO-SUCH-DISK, agent-config.yaml:12" in said
                    assert f"{disk.path} (" in said
                    assert reason["who"] == "user"
                    assert reason["proof"].startswith("ssh 192.0.2.")
                    assert reason["ignored"]
                    found = await site.cluster(MEETING.cluster_id)
                    assert found["status"] == "insufficient"
                    assert "NO-SUCH-DISK" in found["hosts"][0]["status_info"]
                    told = [each for each in await events(site) if each["name"] == "site_not_applied"]
                    assert [each["severity"] for each in told] == ["error"] * 3

    play(scene)


def test_a_disk_that_is_plugged_in_lets_it_go_on(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            hosts = machines(1)
            wanted = course(site, hosts, RootDeviceHints(serial_number="PLUGGED"))
            async with unattended(site, wanted):
                await made(site)
                async with site.hosts(MEETING.infra_env_id, hosts):

                    async def is_told() -> bool:
                        return "matches-site-files" in await reasons(site)

                    await come(is_told)
                    inventory = hosts[0].inventory
                    other = {"id": None, "by_id": None, "by_path": None, "path": "/dev/sdz"}
                    new = replace((inventory.disks or ())[0], serial="PLUGGED", **other)
                    more = replace(inventory, disks=(*(inventory.disks or ()), new))
                    path = f"/infra-envs/{MEETING.infra_env_id}/hosts/{hosts[0].host_id}/instructions"
                    body = {"step_type": "inventory", "output": msgspec.json.encode(more).decode()}
                    tokens = site.running.service.around.host_tokens
                    token = tokens.issue(MEETING.infra_env_id, hosts[0].host_id)
                    got = await site.ask("POST", path, body, X_Secret_Key=token)
                    assert got.status == 204, got.body
                    chosen = await site.until(
                        MEETING.cluster_id,
                        lambda each: each["hosts"][0].get("installation_disk_path") == "/dev/sdz",
                    )
                    assert "rootDeviceHints" not in chosen["hosts"][0]["status_info"]

    play(scene)


def test_clocks_that_were_set_are_in_the_log(tmp_path: Path) -> None:
    change = Change(datetime(1970, 1, 1, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC), "because")

    async def scene() -> None:
        async with open_service(tmp_path) as site, unattended(site, course(site, machines(1)), change):
            await made(site)
            authority = tmp_path / "authority.pem"
            authority.write_text(site.running.identity.authority_pem)
            token = site.agent_token(MEETING.infra_env_id)
            async with open_calls(Target(site.url, token=token, authority=authority)) as calls:
                medium = Medium(token, HostKey(b"3" * 32))
                host = HostCalls(calls, MEETING.infra_env_id, "33333333-3333-4333-8333-333333333333", medium)
                await host.register("1")
                await host.clock_set("b", change)
            told = {each["name"]: each for each in await events(site)}
            for name in ("rendezvous_clock_set", "host_clock_set"):
                assert "was 1970-01-01 00:00:00 UTC" in told[name]["message"]
                assert told[name]["severity"] == "warning"
            assert told["host_clock_set"]["message"].startswith("Host b: its clock was")
            assert told["host_clock_set"]["host_id"] == host.host_id

    play(scene)


def test_what_was_made_in_an_earlier_life_is_not_made_again(tmp_path: Path) -> None:
    async def scene() -> None:
        for _ in range(2):
            async with open_service(tmp_path) as site:
                async with unattended(site, course(site, machines(3))):
                    await made(site)
                names = [each["name"] for each in await events(site)]
                assert names.count("cluster_registration_succeeded") == 1

    play(scene)


def medium_token() -> Tokens:
    """The token that all hosts of the site boot with, whichever service they meet."""
    secrets = dataclasses.replace(fixed_secrets(), cluster_id=MEETING.cluster_id, tokens_issued=now())
    return build_tokens(secrets)


@asynccontextmanager
async def host_of(site: Whole, id: str, token: str) -> AsyncIterator[HostCalls]:
    target = Target(site.url, token=token)
    medium = Medium(medium_token().agent, HostKey(b"3" * 32))
    yield HostCalls(Calls(site.session, target), MEETING.infra_env_id, id, medium)


def test_a_host_is_taken_in_by_a_service_that_lost_what_it_knew(tmp_path: Path) -> None:
    id, keys = machines(1)[0].host_id, (medium_token().public_key,)

    async def meet(folder: Path, token: str) -> str:
        async with open_service(folder, token_keys=keys) as site, unattended(site, course(site, machines(3))):
            await made(site)
            async with host_of(site, id, token) as host:
                registered = await host.register("1")
                assert registered.status == "discovering"
                assert (await host.instructions(now(), 0)).instructions
                return registered.token

    async def scene() -> None:
        own = await meet(before, medium_token().agent)
        assert await meet(after, own) != own

    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    after.mkdir()
    play(scene)


def test_a_node_of_a_lost_installation_is_named_until_it_boots_the_medium(tmp_path: Path) -> None:
    id, keys = machines(1)[0].host_id, (medium_token().public_key,)

    async def scene() -> None:
        async with (
            open_service(tmp_path, token_keys=keys) as site,
            unattended(site, course(site, machines(3))),
            host_of(site, id, medium_token().agent) as host,
        ):
            await made(site)
            for _ in range(2):
                with pytest.raises(Refused) as refused:
                    await host.progress("Configuring", "shop-0")
                assert refused.value.code == 404
            reason = (await reasons(site))["no-hosts-left-behind"]
            assert "shop-0" in reason["message"]
            assert [each["name"] for each in await events(site)].count("host_left_behind") == 1
            await host.register("1")

            async def is_over() -> bool:
                return "no-hosts-left-behind" not in await reasons(site)

            await come(is_over)

    play(scene)


STRANGER = "44444444-4444-4444-8444-444444444444"


async def report(site: Whole, id: str, name: str) -> int:
    """What a node of a lost installation reports, or somebody else who has the medium."""
    path = f"/infra-envs/{MEETING.infra_env_id}/hosts/{id}/progress"
    body = {"current_stage": "Joined", "progress_info": name}
    return (await site.ask("PUT", path, body, X_Secret_Key=medium_token().agent)).status


def named(site: Whole) -> dict[str, str]:
    return site.running.engine.cluster(MEETING.cluster_id).strangers or {}


def test_a_host_that_is_not_reported_any_more_is_forgotten(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path, token_keys=(medium_token().public_key,)) as site:
            player = Unattended(site.running.service, course(site, machines(3)))
            player._left_behind._forget_s = 1.0
            async with going(player.run(), player.note_release(())):
                await made(site)
                assert await report(site, "no-uuid%1b[31m", "shop-0") == 400
                assert named(site) == {}
                assert await report(site, STRANGER, "\x1b[2J\nmaster-0" + "x" * 2000) == 404
                assert named(site)[STRANGER].isprintable()
                assert len(named(site)[STRANGER]) == 64
                assert "no-hosts-left-behind" in await reasons(site)

                async def is_forgotten() -> bool:
                    return "no-hosts-left-behind" not in await reasons(site)

                await come(is_forgotten)

    play(scene)


def test_people_can_ignore_hosts_that_somebody_with_the_medium_reports(tmp_path: Path) -> None:
    async def scene() -> None:
        hosts, keys = machines(3), (medium_token().public_key,)
        async with open_service(tmp_path, token_keys=keys) as site, unattended(site, course(site, hosts)):
            await made(site)
            for number in range(150):
                await report(site, STRANGER[:-3] + f"{number:03}", "shop-0")
            assert len(named(site)) == MOST
            path = f"/clusters/{MEETING.cluster_id}/ignored-validations"
            ignored = {"cluster-validation-ids": '["no-hosts-left-behind"]'}
            assert (await site.ask("PUT", path, ignored)).status == 201
            async with site.hosts(MEETING.infra_env_id, hosts):
                await site.until(MEETING.cluster_id, lambda each: each["status"] == "finalizing")
            assert len(named(site)) == MOST

    play(scene)


def test_a_node_is_named_as_long_as_it_reports_in_any_life_of_the_service(tmp_path: Path) -> None:
    async def scene() -> None:
        for begins in (True, False):
            async with open_service(tmp_path, token_keys=(medium_token().public_key,)) as site:
                player = Unattended(site.running.service, course(site, machines(3)))
                player._left_behind._forget_s = 2.0
                async with (
                    going(player.run(), player.note_release(())),
                    host_of(site, STRANGER, medium_token().agent) as host,
                ):
                    await made(site)
                    for _ in range(10 if begins else 0):
                        with pytest.raises(Refused):
                            await host.progress("Configuring", "shop-0")
                        await asyncio.sleep(0.25)
                    assert "no-hosts-left-behind" in await reasons(site)

                    async def is_over() -> bool:
                        return "no-hosts-left-behind" not in await reasons(site)

                    if not begins:
                        await come(is_over)

    play(scene)


def test_nothing_is_installed_while_another_has_the_rendezvous_ip(tmp_path: Path) -> None:
    found: list[str] = ["52:54:00:00:00:99"]

    async def look() -> tuple[str, ...]:
        return tuple(found)

    async def scene() -> None:
        async with open_service(tmp_path) as site:
            hosts = machines(3)
            player = Unattended(site.running.service, course(site, hosts), look_s=0.01)
            await player.create()
            async with (
                going(player.run(), player.note_release(()), player.watch_rivals(look)),
                site.hosts(MEETING.infra_env_id, hosts),
            ):
                await site.until(
                    MEETING.cluster_id,
                    lambda each: [host["status"] for host in each.get("hosts", ())] == ["known"] * 3,
                )
                assert (await site.cluster(MEETING.cluster_id))["status"] == "insufficient"
                assert "52:54:00:00:00:99" in (await reasons(site))["rendezvous-ip-unique"]["message"]
                found.clear()
                await site.until(MEETING.cluster_id, lambda each: each["status"] == "finalizing")

    play(scene)


def test_nothing_is_begun_before_the_release_is_there(tmp_path: Path) -> None:
    """Whatever hosts are ready, and in whichever life of the service."""
    hosts = machines(3)

    async def waits(site: Whole, words: str) -> None:
        async def is_all() -> bool:
            found = await reasons(site)
            return list(found) == ["release-fetched"] and found["release-fetched"]["message"] == words

        await come(is_all)
        await site.until(MEETING.cluster_id, lambda each: each["status"] == "insufficient")
        assert "prepare_installation_failed" not in {each["name"] for each in await events(site)}

    async def scene() -> None:
        fetched = "the release of the site is being fetched"
        async with open_service(tmp_path) as site:
            player = Unattended(site.running.service, course(site, hosts))
            await player.create()
            async with going(player.run()), site.hosts(MEETING.infra_env_id, hosts):
                await waits(site, fetched)
                await player.note_no_release("nobody answers at registry.example.com")
                await waits(
                    site,
                    "the release of the site cannot be fetched: nobody answers at registry.example.com",
                )
        async with open_service(tmp_path) as site:
            player = Unattended(site.running.service, course(site, hosts))
            await player.create()
            async with going(player.run()), site.hosts(MEETING.infra_env_id, hosts):
                await waits(site, fetched)
                await player.note_release(())
                await site.until(MEETING.cluster_id, lambda each: each["status"] == "finalizing")

    play(scene)
