# SPDX-License-Identifier: Apache-2.0
"""The rights of every role: the guard, the handlers and the docs say the same; and how hosts register."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any, Final

import aiohttp
import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from muster.client.host_key import HostKey
from muster.lab.sim.stand_ins import INGRESS
from muster.model.host_key import CHALLENGE_HEADER, KEY_HEADER, PROOF_HEADER
from muster.service.adapters import epoch_of
from muster.service.api.agents import TOKEN_HEADER
from muster.service.api.table import ROUTES
from muster.service.api.table.render import ROLES
from muster.service.api.table.route import PREFIX, Route
from muster.service.auth.credentials import Knock
from muster.service.auth.keys import make_key_ring
from muster.service.auth.personas import Grant, Persona, Scope
from muster.service.auth.tokens import Tokens
from muster.service.edge.limits import RATES
from muster.service.edge.limits import Settings as LimitSettings
from muster.service.edge.rate import Rate
from muster.service.hosting import now
from muster.service.house import House
from muster.service.realm import Draft
from tests.component.service.whole import Answer, Whole, open_service, play

ACCESS: Final = Path(__file__).parents[3] / "docs/reference/access.md"
UNHURRIED: Final = LimitSettings(rates=dict.fromkeys(RATES, Rate(1e6, 1e6)))
HOSTS: Final = (
    "0f8fad5b-d9cb-469f-a165-70867728950e",
    "7c9e6679-7425-40de-944b-e07fc1f90ae7",
    "b5e2a1f4-6d2b-4c1e-9a55-0e7e8f6a1c11",
)
HOUR: Final = 3600


@dataclass(frozen=True)
class Somebody:
    """Who calls, with which token, and where they put it."""

    name: str
    header: str = ""
    token: str = ""

    @property
    def headers(self) -> dict[str, str]:
        return {self.header: self.token} if self.header else {}


@dataclass(frozen=True)
class Place:
    """What there is to call about."""

    infra_env_id: str
    cluster_id: str
    host_id: str

    def path_of(self, route: Route) -> str:
        values = {
            **vars(self),
            "validation_id": "container-images-available",
            "operator_name": "odf",
            "id": "odf",
        }
        return re.sub(r"{(\w+)}", lambda found: str(values[found[1]]), route.path)


async def furnish(site: Whole, name: str, host: str) -> Place:
    """A cluster with an infra-env and a host that has registered."""
    made = await site.make_cluster(name=name)
    place = Place(made["infra_env_id"], made["id"], host)
    await register(site, place)
    return place


async def register(
    site: Whole, place: Place, token: str = "", host: str = "", key: HostKey | None = None
) -> str:
    """A host registers, with the token of its medium unless it has another; the token that it gets."""
    got = await try_to_register(site, place, token, host, key)
    assert got.status == 201, got.body
    return got.headers[TOKEN_HEADER]


async def try_to_register(
    site: Whole, place: Place, token: str = "", host: str = "", key: HostKey | None = None
) -> Answer:
    """A host registers with its key, and proves that it has it if that is asked for."""
    id, key = host or place.host_id, key or key_of(host or place.host_id)
    path, body = f"/infra-envs/{place.infra_env_id}/hosts", {"host_id": id}
    headers = {"X_Secret_Key": token or site.agent_token(place.infra_env_id), KEY_HEADER: key.public}
    got = await site.ask("POST", path, body, **headers)
    if challenge := got.headers.get(CHALLENGE_HEADER):
        headers |= {
            CHALLENGE_HEADER: challenge,
            PROOF_HEADER: key.prove(place.infra_env_id, id, challenge),
        }
        got = await site.ask("POST", path, body, **headers)
    return got


def key_of(name: str) -> HostKey:
    """A key that is always the same."""
    return HostKey(hashlib.sha256(name.encode()).digest())


def cast(site: Whole, here: Place, other: Place) -> list[Somebody]:
    """All who may come, people last: what they are allowed to do changes things."""
    issue, soon = site.running.tokens.issue, time.time() + HOUR
    own = site.running.service.around.host_tokens.issue
    epoch = epoch_of(site.running.engine.infra_env(here.infra_env_id))
    key = ec.generate_private_key(ec.SECP256R1())
    forged = Tokens(make_key_ring([key]))
    user = Grant(Persona.USER, expires=soon)
    link = f"{PREFIX}/v2/infra-envs/{here.infra_env_id}/downloads/files?file_name=ipxe-script"
    image = Grant(Persona.IMAGE, Scope(here.infra_env_id), soon, epoch=epoch, link=link)
    worthless = Grant(Persona.IMAGE, Scope(here.infra_env_id), soon, epoch=epoch + 1, link=link)
    return [
        Somebody("nobody"),
        Somebody("expired", "Authorization", issue(Grant(Persona.USER, expires=time.time() - 1))),
        Somebody("forged", "Authorization", forged.issue(user)),
        Somebody("garbage", "Authorization", "Bearer x.y.z"),
        Somebody("image", "Image-Token", issue(image)),
        Somebody("image of an older key", "Image-Token", issue(worthless)),
        Somebody("watcher", "Watcher-Authorization", issue(Grant(Persona.WATCHER, expires=soon))),
        Somebody(
            "watcher of another",
            "Watcher-Authorization",
            issue(Grant(Persona.WATCHER, Scope(cluster_id=other.cluster_id), soon)),
        ),
        Somebody("medium", "X-Secret-Key", site.agent_token(here.infra_env_id)),
        Somebody("medium of another", "X-Secret-Key", site.agent_token(other.infra_env_id)),
        Somebody("host", "X-Secret-Key", own(here.infra_env_id, here.host_id)),
        Somebody("worker", "X-Secret-Key", own(here.infra_env_id, HOSTS[1])),
        Somebody("host of another", "X-Secret-Key", own(other.infra_env_id, other.host_id)),
        Somebody("user", "Authorization", f"Bearer {site.token}"),
    ]


CLUSTER_STATES: Final = (
    *("insufficient", "ready", "pending-for-input", "preparing-for-installation", "installing"),
    *("installing-pending-user-action", "finalizing", "installed", "error", "cancelled", "adding-hosts"),
)
HOST_STATES: Final = {
    "preparing-for-installation": "preparing-for-installation",
    "installing": "installing",
    "installing-pending-user-action": "installing-in-progress",
    "finalizing": "installing-in-progress",
    "installed": "installed",
    "error": "error",
    "cancelled": "cancelled",
}
"""The state of the hosts in each state of their cluster; `known` in all others."""


RELEASES: Final = {"kubernetes": "v1.36.3", "openshift": "4.22.0"}
"""A version of each kind of release."""


@dataclass(frozen=True)
class Asked:
    """What a request is about, as seen from the caller."""

    name: str
    place: Place


def documented_status(who: str, route: Route, about: str, state: str, release: str) -> int | None:
    """What the page in the docs says about a call: 401, 403, or None when it is let in."""
    cells = DOCUMENTED[f"{route.method} {route.path}"]
    if "anyone" in cells.values():
        return None
    if who in ("nobody", "expired", "forged", "garbage"):
        return 401
    role, _, which = who.partition(" ")
    cell = cells[Persona({"worker": "host"}.get(role, role))]
    if not cell or (role == "image" and (which or about == "another infra-env")):
        return 403
    is_about_one = "{" in route.path
    if which == "of another" and (is_about_one or not route.narrows):
        return 403
    if about == "another infra-env" and is_about_one and role != "user" and role != "watcher":
        return 403
    if role in ("host", "worker"):
        named_host = "{host_id}" in route.path
        if named_host and (about == "another host") == (role == "host"):
            return 403
        is_met = any(_is_met(part, role, state, release) for part in cell.split(", or "))
        return None if is_met else 403
    if role == "medium" and "yes" not in cell:
        return 403  # Every host here has a key, and the service knows it.
    return None


def _is_met(conditions: str, role: str, state: str, release: str) -> bool:
    """Whether the conditions of a cell hold for a host with a key."""
    for condition in conditions.split("; "):
        kind, _, states = condition.partition(" ")
        if condition == "control plane":
            if role != "host":
                return False
        elif kind == "release":
            if states != release:
                return False
        elif kind == "cluster":
            if state not in states.split(" or "):
                return False
        elif kind == "host":
            if HOST_STATES.get(state, "known") not in states.split(" or "):
                return False
        else:
            assert condition == "yes", condition
    return True


def _documented() -> dict[str, dict[Persona, str]]:
    """The table of the docs, read again: the words in each cell."""
    rows = [
        line.strip("|\n").split(" | ") for line in ACCESS.read_text().splitlines() if line.startswith("| ")
    ]
    (head,) = (row for row in rows if row[0].strip() == "operation" and len(row) == 8)
    found = {}
    for row in rows:
        if len(row) == len(head) and row[0].strip().startswith("`"):
            cells = dict(zip((cell.strip() for cell in head), (cell.strip() for cell in row), strict=True))
            found[cells["operation"].strip("`")] = {role: cells[role] for role in ROLES}
    return found


DOCUMENTED: Final = _documented()


async def set_states(site: Whole, place: Place, state: str, version: str = "") -> None:
    """Put a cluster and its hosts into a state, as if they had come there; with another release, if named."""

    def decision(draft: Draft) -> None:
        draft.change(draft.cluster, status=state)
        draft.change(draft.cluster, openshift_version=version or draft.cluster.openshift_version)
        for id in HOSTS:
            if id in draft.hosts:
                role = "worker" if id == HOSTS[1] else "master"
                draft.change(draft.hosts[id], status=HOST_STATES.get(state, "known"), role=role)

    def nothing_follows(_: Draft) -> None:
        """What follows from a state is not wanted here."""

    engine = site.running.engine
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "_react", nothing_follows)
        await site.running.service.change(lambda: engine.realm_of("cluster", place.cluster_id), decision)


def test_the_docs_name_every_operation_once() -> None:
    assert set(DOCUMENTED) == {f"{route.method} {route.path}" for route in ROUTES}


def test_every_role_calls_every_operation_in_every_state(tmp_path: Path) -> None:
    wrong: list[object] = []
    count = 0

    async def scene() -> None:
        nonlocal count
        async with open_service(tmp_path, limits=UNHURRIED) as site:
            here = await furnish(site, "alpha", HOSTS[0])
            await register(site, here, host=HOSTS[1])
            other = await furnish(site, "beta", HOSTS[2])
            guard = site.running.guard
            abouts = (
                Asked("own host", here),
                Asked("another host", Place(here.infra_env_id, here.cluster_id, HOSTS[1])),
                Asked("another infra-env", other),
            )
            for (release, version), state in product(RELEASES.items(), CLUSTER_STATES):
                await set_states(site, here, state, version)
                await set_states(site, other, state, version)
                callers = cast(site, here, other)
                for who, route, about in product(callers, ROUTES, abouts):
                    headers = [(name.lower().encode(), value.encode()) for name, value in who.headers.items()]
                    query = b"file_name=ipxe-script" if "downloads/files" in route.path else b""
                    path = about.place.path_of(route)
                    ids = {
                        key: value for key, value in vars(about.place).items() if f"{{{key}}}" in route.path
                    }
                    knock = Knock(route.method, path, query, headers, ids)
                    verdict = guard.admit(route, knock, time.time()).verdict
                    seen_from = about.name if not who.name.endswith("of another") else "another infra-env"
                    if who.name.endswith("of another") and about.place is other:
                        continue  # That is their own.
                    wanted = documented_status(who.name, route, seen_from, state, release)
                    count += 1
                    if (verdict.status or None) != wanted:
                        wrong.append(
                            (who.name, route.operation_id, about.name, release, state, verdict, wanted)
                        )

    play(scene)
    assert wrong == []
    assert count > 80_000


@pytest.mark.parametrize("admits", [False, True])
def test_a_medium_speaks_for_unknown_hosts_and_for_hosts_without_a_key_as_the_docs_say(
    tmp_path: Path, admits: bool
) -> None:
    wrong: list[object] = []
    let_in: set[tuple[str, str]] = set()

    async def scene() -> None:
        async with open_service(tmp_path, limits=UNHURRIED, house=House(admits_keyless=admits)) as site:
            here = await furnish(site, "alpha", HOSTS[0])
            other = await furnish(site, "beta", HOSTS[2])
            await take_key(site, here)
            await take_key(site, other)
            abouts = {
                "unknown": Place(here.infra_env_id, here.cluster_id, HOSTS[1]),
                "keyless": here,
                "keyless of another": Place(here.infra_env_id, here.cluster_id, HOSTS[2]),
            }
            header = [(b"x-secret-key", site.agent_token(here.infra_env_id).encode())]
            for state, route, (about, place) in product(CLUSTER_STATES, ROUTES, abouts.items()):
                await set_states(site, here, state)
                ids = {key: value for key, value in vars(place).items() if f"{{{key}}}" in route.path}
                query = f"logs_type=host&host_id={place.host_id}".encode() if "logs" in route.path else b""
                knock = Knock(route.method, place.path_of(route), query, header, ids)
                verdict = site.running.guard.admit(route, knock, time.time()).verdict
                cells = DOCUMENTED[f"{route.method} {route.path}"]
                words = cells[Persona.MEDIUM].split(", or ")
                names_host = "{host_id}" in route.path or route.operation_id == "V2UploadLogs"
                wanted = (
                    "anyone" in cells.values()
                    or "yes" in words
                    or ("host not known" in words and about != "keyless")
                    or ("host without a key, where allowed" in words and about == "keyless" and admits)
                )
                if names_host and verdict.is_allowed:
                    let_in.add((about, route.operation_id))
                if verdict.is_allowed != wanted:
                    wrong.append((route.operation_id, about, state, verdict))

    play(scene, 240)
    assert wrong == []
    assert ("keyless", "v2GetNextSteps") in let_in if admits else ("keyless", "v2GetNextSteps") not in let_in
    assert ("unknown", "v2UpdateHostInstallProgress") in let_in


async def take_key(site: Whole, place: Place) -> None:
    """The host has no key any more, as if it were an agent of the assisted installer."""
    engine = site.running.engine
    await site.running.service.change(
        lambda: engine.realm_of("cluster", place.cluster_id),
        lambda draft: draft.change(draft.hosts[place.host_id], public_key=""),
    )


@pytest.mark.parametrize("state", ["insufficient", "installing", "finalizing", "installed"])
def test_every_role_calls_every_operation_over_http(tmp_path: Path, state: str) -> None:
    """What is let in is answered by the operation, and never with a failure."""
    found: dict[tuple[str, str], int] = {}

    async def scene() -> None:
        async with open_service(tmp_path, limits=UNHURRIED) as site:
            here = await furnish(site, "alpha", HOSTS[0])
            await register(site, here, host=HOSTS[1])
            other = await furnish(site, "beta", HOSTS[2])
            routes = sorted(ROUTES, key=lambda each: each.method == "DELETE")
            for who in cast(site, here, other):
                await set_states(site, here, state)
                for route in routes:
                    found[who.name, route.operation_id] = await status_of(
                        site, who, route, here.path_of(route)
                    )

    play(scene)
    assert not [each for each, status in found.items() if status >= 500 and status not in (501, 503)]
    refused = {
        route.operation_id for route in ROUTES if found["medium", route.operation_id] not in (401, 403)
    }
    open_to_all = {route.operation_id for route in ROUTES if Persona.ANYONE in route.who}
    assert refused - open_to_all == {"v2RegisterHost"}


async def status_of(site: Whole, who: Somebody, route: Route, path: str) -> int:
    """How a call ends; of what goes on and on only the beginning is looked at."""
    data = b"{}" if route.method in ("POST", "PUT", "PATCH") else None
    url = site.running.url + path
    async with site.session.request(route.method, url, data=data, headers=who.headers) as got:
        return got.status


# Tokens of hosts


async def poll(site: Whole, place: Place, token: str) -> Answer:
    path = f"/infra-envs/{place.infra_env_id}/hosts/{place.host_id}/instructions"
    return await site.ask("GET", path, X_Secret_Key=token)


def test_an_agent_that_is_restarted_proves_that_it_has_the_key_of_its_host(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            here = await furnish(site, "alpha", HOSTS[0])
            medium = site.agent_token(here.infra_env_id)
            assert "own" in (await poll(site, here, medium)).json["message"]
            first = await register(site, here)
            assert (await poll(site, here, first)).status == 200
            # With its own token nothing changes.
            assert (await poll(site, here, await register(site, here, first))).status == 200
            assert (await poll(site, here, first)).status == 200
            # With its key alone it gets a new token, and the old one ends.
            second = await register(site, here)
            refused = await poll(site, here, first)
            assert (refused.status, "registered again" in refused.json["message"]) == (403, True)
            assert (await poll(site, here, second)).status == 200

    play(scene)


def fall_silent(site: Whole, host_id: str) -> None:
    """As if the host had not called or registered for some minutes."""
    engine, silence = site.running.engine, timedelta(minutes=3)
    engine.heard[host_id] -= silence
    host = engine.host(host_id)
    earlier = msgspec.structs.replace(host, registered_at=host.registered_at - silence)
    engine.realm_of("host", host_id).put("host", host_id, earlier)


def test_the_token_of_a_medium_does_not_take_over_a_host_that_is_heard(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            here = await furnish(site, "alpha", HOSTS[0])
            own = await register(site, here)
            assert (await poll(site, here, own)).status == 200
            thief = await try_to_register(site, here, key=key_of("thief"))
            assert (thief.status, TOKEN_HEADER in thief.headers) == (503, False)
            assert int(thief.headers["retry-after"]) > 0
            without = await site.ask(
                "POST",
                f"/infra-envs/{here.infra_env_id}/hosts",
                {"host_id": here.host_id},
                X_Secret_Key=site.agent_token(here.infra_env_id),
            )
            assert (without.status, TOKEN_HEADER in without.headers) == (403, False)
            assert (await poll(site, here, own)).status == 200

    play(scene)


def test_a_host_that_was_restarted_before_its_installation_comes_back_with_a_new_key(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            here = await furnish(site, "alpha", HOSTS[0])
            own = await register(site, here)
            fall_silent(site, here.host_id)
            again = await register(site, here, key=key_of("after a restart"))
            assert (await poll(site, here, again)).status == 200
            assert (await poll(site, here, own)).status == 403
            events = (await site.ask("GET", f"/events?cluster_id={here.cluster_id}&severities=warning")).json
            assert "host_enrolled_again" in [each["name"] for each in events]

    play(scene)


def test_a_person_approves_a_host_that_was_restarted_during_its_installation(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            here = await furnish(site, "alpha", HOSTS[0])
            own = await register(site, here)
            await set_states(site, here, "installing")
            fall_silent(site, here.host_id)
            new = key_of("after a restart")
            refused = await try_to_register(site, here, key=new)
            assert (refused.status, TOKEN_HEADER in refused.headers) == (403, False)
            assert new.fingerprint in refused.json["reason"]
            path = f"/infra-envs/{here.infra_env_id}/hosts/{here.host_id}"
            shown = (await site.ask("GET", path)).json["enrolment_request"]
            assert (shown["key"], shown["address"]) == (new.fingerprint, "127.0.0.1")
            assert "approved" not in shown
            assert key_of(here.host_id).fingerprint in shown["differs"][0]
            why = (await site.ask("GET", f"/clusters/{here.cluster_id}/why")).json
            assert new.fingerprint in json.dumps(why)
            approve = f"{path}/actions/approve-enrolment"
            assert (await site.ask("POST", approve, {"key": "no key"})).status == 400
            assert (await site.ask("POST", approve, {"key": shown["key"]}, X_Secret_Key=own)).status == 403
            await set_states(site, here, "installing")
            assert (await try_to_register(site, here, key=new)).status == 403
            await set_states(site, here, "installing")
            approved = await site.ask("POST", approve, {"key": shown["key"]})
            assert approved.json["enrolment_request"]["approved"]
            await set_states(site, here, "installing")
            assert (await try_to_register(site, here, key=key_of("thief"))).status == 403
            again = await register(site, here, key=new)
            assert (await poll(site, here, again)).status == 200
            assert "enrolment_request" not in (await site.ask("GET", path)).json

    play(scene)


def test_a_worker_does_not_reach_the_keys_of_the_control_plane(tmp_path: Path) -> None:
    """The whole way that led there: the medium's token by discovery.ign, a new token, the Ignition."""

    async def scene() -> None:
        async with open_service(tmp_path) as site:
            here = await furnish(site, "alpha", HOSTS[0])
            worker = await register(site, here, host=HOSTS[1])
            await set_states(site, here, "installing")
            files = f"/infra-envs/{here.infra_env_id}/downloads/files?file_name=discovery.ign"
            assert (await site.ask("GET", files, X_Secret_Key=worker)).status == 403
            shown = await site.ask("GET", f"/infra-envs/{here.infra_env_id}", X_Secret_Key=worker)
            assert shown.status == 403
            ignition = f"/infra-env/{here.infra_env_id}/hosts/{here.host_id}/downloads/ignition"
            medium = site.agent_token(here.infra_env_id)
            for token in (worker, medium):
                stolen = await try_to_register(site, here, token=token, key=key_of("thief"))
                assert TOKEN_HEADER not in stolen.headers
                assert (await site.ask("GET", ignition, X_Secret_Key=token)).status == 403
            for name in ("kubeconfig", "kubeconfig-noingress", "kubeadmin-password"):
                path = f"/clusters/{here.cluster_id}/downloads/credentials?file_name={name}"
                for token in (worker, medium):
                    assert (await site.ask("GET", path, X_Secret_Key=token)).status == 403

    play(scene)


def test_a_host_sees_only_the_progress_of_other_hosts(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            here = await furnish(site, "alpha", HOSTS[0])
            own = await register(site, here, host=HOSTS[1])
            path = f"/clusters/{here.cluster_id}"
            cluster = (await site.ask("GET", path, X_Secret_Key=own)).json
            listed = (await site.ask("GET", f"{path}/hosts", X_Secret_Key=own)).json
            allowed = {"kind", "id", "href", "status", "status_info", "cluster_id", "infra_env_id"}
            allowed |= {"requested_hostname", "role", "suggested_role", "bootstrap", "progress"}
            for hosts in (cluster["hosts"], listed):
                (peer,) = (each for each in hosts if each["id"] == here.host_id)
                assert set(peer) <= allowed
            assert "ssh_public_key" not in json.dumps(cluster)
            assert "install_config_overrides" not in cluster

    play(scene)


def test_hosts_without_a_key_are_admitted_only_where_that_is_allowed(tmp_path: Path) -> None:
    async def scene(admits: bool) -> None:
        folder = tmp_path / str(admits)
        folder.mkdir()
        async with open_service(folder, house=House(admits_keyless=admits)) as site:
            made = await site.make_cluster()
            here = Place(made["infra_env_id"], made["id"], HOSTS[0])
            medium = site.agent_token(here.infra_env_id)
            path = f"/infra-envs/{here.infra_env_id}/hosts"
            got = await site.ask("POST", path, {"host_id": here.host_id}, X_Secret_Key=medium)
            assert got.status == (201 if admits else 403)
            if not admits:
                assert "--admit-keyless-hosts" in got.json["reason"]
                return
            assert (await poll(site, here, medium)).status == 200
            # It is heard, so nobody can take its place.
            assert (
                await site.ask("POST", path, {"host_id": here.host_id}, X_Secret_Key=medium)
            ).status == 503
            await set_states(site, here, "installing")
            fall_silent(site, here.host_id)
            assert (
                await site.ask("POST", path, {"host_id": here.host_id}, X_Secret_Key=medium)
            ).status == 403
            ignition = f"/infra-env/{here.infra_env_id}/hosts/{here.host_id}/downloads/ignition"
            assert (await site.ask("GET", ignition, X_Secret_Key=medium)).status == 403

    for admits in (True, False):
        play(lambda admits=admits: scene(admits))  # type: ignore[misc]


def test_the_authority_of_the_ingress_is_parsed(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            here = await furnish(site, "alpha", HOSTS[0])
            own = site.running.service.around.host_tokens.issue(here.infra_env_id, here.host_id)
            path = f"/clusters/{here.cluster_id}/uploads/ingress-cert"
            await set_states(site, here, "finalizing")
            for bad in ("BEGIN CERTIFICATE", INGRESS.replace("M", "N"), "x" * 100_000, ""):
                assert (await site.ask("POST", path, bad, X_Secret_Key=own)).status == 400
            await set_states(site, here, "installing")
            assert (await site.ask("POST", path, INGRESS, X_Secret_Key=own)).status == 403

    play(scene)


def test_what_is_asked_with_other_keys_does_not_displace_the_host(tmp_path: Path) -> None:
    """The holder of the medium may ask as often as it likes: one event a minute, and the right key counts."""

    async def scene() -> None:
        async with open_service(tmp_path) as site:
            here = await furnish(site, "alpha", HOSTS[0])
            await register(site, here)
            await set_states(site, here, "installing")
            fall_silent(site, here.host_id)
            new = key_of("after a restart")
            for key in (*(key_of(f"thief {each}") for each in range(20)), new):
                await set_states(site, here, "installing")
                refused = await try_to_register(site, here, key=key)
                assert (refused.status, TOKEN_HEADER in refused.headers) == (403, False)
            events = (await site.ask("GET", f"/events?cluster_id={here.cluster_id}&limit=-1")).json
            assert [each["name"] for each in events].count("host_enrolment_requested") == 1
            path = f"/infra-envs/{here.infra_env_id}/hosts/{here.host_id}"
            approve = f"{path}/actions/approve-enrolment"
            assert (await site.ask("POST", approve, {"key": new.fingerprint})).status == 200
            await set_states(site, here, "installing")
            thief = await try_to_register(site, here, key=key_of("thief 0"))
            assert thief.status == 403
            await set_states(site, here, "installing")
            again = await register(site, here, key=new)
            assert (await poll(site, here, again)).status == 200

    play(scene)


def test_a_request_to_register_again_ends_when_the_host_goes_on_with_its_key(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            here = await furnish(site, "alpha", HOSTS[0])
            own = await register(site, here)
            await set_states(site, here, "installing")
            fall_silent(site, here.host_id)
            assert (await try_to_register(site, here, key=key_of("thief"))).status == 403
            path = f"/infra-envs/{here.infra_env_id}/hosts/{here.host_id}"
            assert "enrolment_request" in (await site.ask("GET", path)).json
            await set_states(site, here, "installing")
            told = {"current_stage": "Starting installation"}
            assert (await site.ask("PUT", f"{path}/progress", told, X_Secret_Key=own)).status == 200
            assert "enrolment_request" not in (await site.ask("GET", path)).json

    play(scene)


def test_tokens_of_a_host_that_was_deleted_stay_void(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            here = await furnish(site, "alpha", HOSTS[0])
            thief = await register(site, here)
            path = f"/infra-envs/{here.infra_env_id}/hosts/{here.host_id}"
            assert (await site.ask("DELETE", path)).status == 204
            own = await register(site, here, key=key_of("the real one"))
            assert (await poll(site, here, own)).status == 200
            assert (await poll(site, here, thief)).status == 403

    play(scene)


def test_of_two_with_different_keys_at_the_same_time_one_gets_a_token(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            here = await furnish(site, "alpha", HOSTS[0])
            await register(site, here)
            for each in range(5):
                fall_silent(site, here.host_id)
                keys = [key_of(f"{name} {each}") for name in ("one", "other")]
                answers = await asyncio.gather(*(try_to_register(site, here, key=key) for key in keys))
                assert sorted(answer.status for answer in answers) == [201, 503]

    play(scene)


def test_who_claims_to_be_a_host_that_booted_its_disk_learns_and_changes_nothing(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            here = await furnish(site, "alpha", HOSTS[0])
            own = await register(site, here)
            path = f"/infra-envs/{here.infra_env_id}/hosts/{here.host_id}"
            canary = {"config": '{"ignition": {"version": "3.2.0"}, "storage": {"directories": []}}'}
            assert (await site.ask("PATCH", f"{path}/ignition", canary)).status == 201
            for stage in ("Writing image to disk", "Rebooting"):
                await set_states(site, here, "installing")
                told = {"current_stage": stage}
                assert (await site.ask("PUT", f"{path}/progress", told, X_Secret_Key=own)).status == 200
            await set_states(site, here, "installing")
            status = (await site.ask("GET", path)).json["status"]
            thief = await try_to_register(site, here, key=key_of("thief"))
            assert (thief.status, TOKEN_HEADER in thief.headers) == (503, False), "it was heard just now"
            assert (await site.ask("GET", path)).json["status"] == status
            fall_silent(site, here.host_id)
            await set_states(site, here, "installing")
            noted = await try_to_register(site, here, key=key_of("thief"))
            assert (noted.status, TOKEN_HEADER in noted.headers) == (201, False)
            assert "ignition_config_overrides" not in noted.json
            assert "inventory" not in noted.json

    play(scene)


def test_a_host_uploads_only_its_own_logs(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            here = await furnish(site, "alpha", HOSTS[0])
            worker = await register(site, here, host=HOSTS[1])
            await set_states(site, here, "installing")
            path = f"{site.url}{PREFIX}/v2/clusters/{here.cluster_id}/logs"

            async def upload(query: str, token: str) -> int:
                form = aiohttp.FormData()
                form.add_field("upfile", b"logs", filename="logs.tar.gz")
                headers = {"X-Secret-Key": token}
                async with site.session.post(f"{path}?{query}", data=form, headers=headers) as got:
                    return got.status

            assert await upload(f"logs_type=host&host_id={HOSTS[1]}", worker) == 204
            assert await upload(f"logs_type=host&host_id={here.host_id}", worker) == 403
            assert await upload("logs_type=controller", worker) == 403
            own = site.running.service.around.host_tokens.issue(here.infra_env_id, here.host_id)
            assert await upload("logs_type=controller", own) == 204

    play(scene)


def test_a_host_cannot_be_taken_from_another_infra_env(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            here = await furnish(site, "alpha", HOSTS[0])
            other = await furnish(site, "beta", HOSTS[2])
            got = await try_to_register(site, other, host=here.host_id)
            assert got.status == 409, got.body
            own = site.running.service.around.host_tokens.issue(here.infra_env_id, here.host_id)
            assert (await poll(site, here, own)).status == 200

    play(scene)


# Requests, approvals and other machines with the medium


async def host_of(site: Whole, place: Place) -> dict[str, Any]:
    got = await site.ask("GET", f"/infra-envs/{place.infra_env_id}/hosts/{place.host_id}")
    found: dict[str, Any] = got.json
    return found


async def events_of(site: Whole, place: Place) -> list[dict[str, Any]]:
    got = await site.ask("GET", f"/events?cluster_id={place.cluster_id}&limit=-1")
    found: list[dict[str, Any]] = got.json
    return found


async def approve(site: Whole, place: Place, key: str) -> Answer:
    path = f"/infra-envs/{place.infra_env_id}/hosts/{place.host_id}/actions/approve-enrolment"
    return await site.ask("POST", path, {"key": key})


def test_a_poll_of_the_host_withdraws_the_request_and_the_approval_of_another_key(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            here = await furnish(site, "alpha", HOSTS[0])
            own, thief = await register(site, here), key_of("thief")
            await set_states(site, here, "installing")
            fall_silent(site, here.host_id)
            assert (await try_to_register(site, here, key=thief)).status == 403
            await set_states(site, here, "installing")
            assert (await approve(site, here, thief.fingerprint)).status == 200
            await set_states(site, here, "installing")
            assert (await poll(site, here, own)).status == 200
            assert "enrolment_request" not in await host_of(site, here)
            names = [each["name"] for each in await events_of(site, here)]
            assert "host_enrolment_withdrawn" in names
            await set_states(site, here, "installing")
            fall_silent(site, here.host_id)
            refused = await try_to_register(site, here, key=thief)
            assert (refused.status, TOKEN_HEADER in refused.headers) == (403, False)
            await set_states(site, here, "installing")
            version = site.running.engine.realm_of("host", here.host_id).version
            for _ in range(3):
                await poll(site, here, own)
            written = site.running.engine.realm_of("host", here.host_id).version - version
            assert written == 1, "the request was withdrawn, and nothing else is written"

    play(scene)


def test_an_approval_expires_after_ten_minutes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = timedelta()

    def clock() -> datetime:
        return now() + ahead

    async def scene() -> None:
        nonlocal ahead
        async with open_service(tmp_path, clock) as site:
            here, new = await furnish(site, "alpha", HOSTS[0]), key_of("after a restart")
            await register(site, here)
            await set_states(site, here, "installing")
            monkeypatch.setattr(site.running.engine, "_react", lambda _: None)  # The state stays.
            fall_silent(site, here.host_id)
            assert (await approve(site, here, new.fingerprint)).status == 200
            for _ in range(11):  # In steps that are smaller than those of a clock that is set.
                ahead += timedelta(seconds=55)
                site.running.service.now()
            late = await try_to_register(site, here, key=new)
            assert (late.status, TOKEN_HEADER in late.headers) == (403, False)

    play(scene)


def test_a_request_of_before_the_clock_was_set_back_does_not_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead = timedelta()

    def clock() -> datetime:
        return now() + ahead

    async def scene() -> None:
        nonlocal ahead
        async with open_service(tmp_path, clock) as site:
            here, new = await furnish(site, "alpha", HOSTS[0]), key_of("after a restart")
            await register(site, here)
            await set_states(site, here, "installing")
            monkeypatch.setattr(site.running.engine, "_react", lambda _: None)  # The state stays.
            fall_silent(site, here.host_id)
            assert (await try_to_register(site, here, key=key_of("thief"))).status == 403
            ahead = timedelta(hours=-10)
            site.running.service.now()
            for _ in range(7):
                ahead += timedelta(seconds=55)
                site.running.service.now()
            medium = Grant(Persona.MEDIUM, Scope(here.infra_env_id), time.time() + HOUR)
            token = site.running.tokens.issue(medium)
            assert (await try_to_register(site, here, token=token, key=new)).status == 403
            assert (await host_of(site, here))["enrolment_request"]["key"] == new.fingerprint

    play(scene)


def test_the_key_on_the_console_of_a_host_displaces_who_took_its_place(tmp_path: Path) -> None:
    """The holder of the medium registered as the host while it was silent, before the installation."""

    async def scene() -> None:
        async with open_service(tmp_path) as site:
            here, real = await furnish(site, "alpha", HOSTS[0]), key_of("on the console")
            fall_silent(site, here.host_id)
            stolen = await register(site, here, key=key_of("thief"))
            assert (await poll(site, here, stolen)).status == 200
            refused = await try_to_register(site, here, key=real)
            assert (refused.status, TOKEN_HEADER in refused.headers) == (503, False)
            assert real.fingerprint in refused.json["reason"], "the console shows it"
            (told,) = (
                each for each in await events_of(site, here) if each["name"] == "host_enrolment_refused"
            )
            assert told["severity"] == "warning"
            assert real.fingerprint in told["message"]
            assert "127.0.0.1" in told["message"]
            assert (await approve(site, here, real.fingerprint)).status == 200
            assert (await poll(site, here, stolen)).status == 200
            own = await register(site, here, key=real)
            assert (await poll(site, here, own)).status == 200
            assert (await poll(site, here, stolen)).status == 403
            again = await try_to_register(site, here, key=key_of("thief"))
            assert (again.status, TOKEN_HEADER in again.headers) == (503, False)

    play(scene)


def test_a_host_that_registered_at_another_replica_counts_as_running(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            here = await furnish(site, "alpha", HOSTS[0])
            fall_silent(site, here.host_id)
            heard_here = site.running.engine.heard[here.host_id]
            honest = await register(site, here, key=key_of("after a restart"))
            site.running.engine.heard[here.host_id] = heard_here
            thief = await try_to_register(site, here, key=key_of("thief"))
            assert (thief.status, TOKEN_HEADER in thief.headers) == (503, False)
            assert (await poll(site, here, honest)).status == 200

    play(scene)


def test_a_registration_that_is_decided_again_sees_who_registered_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            here, real = await furnish(site, "alpha", HOSTS[0]), key_of("after a restart")
            fall_silent(site, here.host_id)
            service, engine = site.running.service, site.running.engine
            realm, before = engine.realm_of("host", here.host_id), engine.host(here.host_id)
            commit = service._commit
            conflicts = 0

            async def lose_once(changes: Any, *realms: str) -> bool:
                nonlocal conflicts
                conflicts += 1
                if conflicts > 1:
                    return await commit(changes, *realms)
                # The change of another replica takes the place of this one.
                elsewhere = msgspec.structs.replace(before, public_key=real.public, registered_at=now())
                realm.put("host", before.id, elsewhere)
                return False

            monkeypatch.setattr(service, "_commit", lose_once)
            key, path = key_of("thief"), f"/infra-envs/{here.infra_env_id}/hosts"
            challenge = service.around.host_tokens.challenge(here.infra_env_id, here.host_id)
            headers = {
                "X_Secret_Key": site.agent_token(here.infra_env_id),
                KEY_HEADER: key.public,
                CHALLENGE_HEADER: challenge,
                PROOF_HEADER: key.prove(here.infra_env_id, here.host_id, challenge),
            }
            thief = await site.ask("POST", path, {"host_id": here.host_id}, **headers)
            assert conflicts > 1
            assert (thief.status, TOKEN_HEADER in thief.headers) == (503, False)

    play(scene)


@pytest.mark.parametrize("stage", ["Configuring", "Joined"])
def test_who_registers_as_a_host_that_left_the_medium_is_only_reported(tmp_path: Path, stage: str) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            here = await furnish(site, "alpha", HOSTS[0])
            own, thief = await register(site, here), key_of("thief")
            path = f"/infra-envs/{here.infra_env_id}/hosts/{here.host_id}"
            for each in ("Writing image to disk", "Rebooting", stage):
                await set_states(site, here, "finalizing")
                told = {"current_stage": each}
                assert (await site.ask("PUT", f"{path}/progress", told, X_Secret_Key=own)).status == 200
            await set_states(site, here, "finalizing")
            fall_silent(site, here.host_id)
            refused = await try_to_register(site, here, key=thief)
            assert (refused.status, TOKEN_HEADER in refused.headers) == (403, False)
            assert thief.fingerprint in refused.json["reason"]
            names = {each["name"]: each for each in await events_of(site, here)}
            assert thief.fingerprint in names["host_booted_medium"]["message"]
            assert "127.0.0.1" in names["host_booted_medium"]["message"]
            assert (await host_of(site, here))["status"] != "installing-pending-user-action"
            assert (await approve(site, here, thief.fingerprint)).status == 409

    play(scene)


def test_no_host_moves_the_virtual_addresses_of_its_cluster(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            made = await site.make_cluster(
                vip_dhcp_allocation=True, machine_networks=[{"cidr": "192.0.2.0/24"}]
            )
            here = Place(made["infra_env_id"], made["id"], HOSTS[0])
            await register(site, here)
            worker = await register(site, here, host=HOSTS[1])
            path = f"/infra-envs/{here.infra_env_id}/hosts/{HOSTS[1]}/instructions"
            lease = {"api_vip_address": "192.0.2.66", "ingress_vip_address": "192.0.2.67"}
            told = {"step_type": "dhcp-lease-allocate", "output": json.dumps(lease)}
            for state in CLUSTER_STATES:
                await set_states(site, here, state)
                await site.ask("POST", path, told, X_Secret_Key=worker)
                cluster = await site.cluster(here.cluster_id)
                assert [each["ip"] for each in cluster["api_vips"]] == ["192.0.2.200"], state
                assert [each["ip"] for each in cluster["ingress_vips"]] == ["192.0.2.201"], state

    play(scene)


# What scoped tokens see


def test_events_are_told_of_what_a_token_is_for(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            here = await furnish(site, "alpha", HOSTS[0])
            other = await furnish(site, "beta", HOSTS[2])
            await register(site, here, host=HOSTS[1])
            own = site.running.service.around.host_tokens.issue(here.infra_env_id, here.host_id)

            async def tell(who: str, **ids: str) -> int:
                event = {"severity": "info", "message": "m", "event_time": "2026-01-01T00:00:00Z", **ids}
                return (await site.ask("POST", "/events", event, X_Secret_Key=who)).status

            assert await tell(own, host_id=here.host_id, props='{"severity": 1, "name": "a"}') == 201
            assert await tell(own, host_id=here.host_id) == 201
            assert await tell(own, cluster_id=here.cluster_id) == 403
            assert await tell(own, host_id=HOSTS[1]) == 403
            assert await tell(own, infra_env_id=here.infra_env_id) == 403
            assert await tell(own, cluster_id=other.cluster_id) == 403
            assert await tell(own, host_id=other.host_id) == 403
            assert await tell(own) == 400
            assert await tell(own, host_id=here.host_id, props="[]") == 400
            assert await tell(site.agent_token(here.infra_env_id), host_id=here.host_id) == 403

    play(scene)


def test_lists_are_cut_down_to_what_a_token_is_for(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            here = await furnish(site, "alpha", HOSTS[0])
            other = await furnish(site, "beta", HOSTS[2])
            await register(site, here, host=HOSTS[1])
            scope = Scope(cluster_id=here.cluster_id)
            watcher = site.running.tokens.issue(Grant(Persona.WATCHER, scope, time.time() + HOUR))

            async def see(path: str, **headers: str) -> list[dict[str, str]]:
                got = await site.ask("GET", path, **(headers or {"Watcher_Authorization": watcher}))
                assert got.status == 200, got.body
                found: list[dict[str, str]] = got.json
                return found

            assert [each["id"] for each in await see("/clusters")] == [here.cluster_id]
            assert [each["id"] for each in await see("/infra-envs")] == [here.infra_env_id]
            assert {each["cluster_id"] for each in await see("/events")} == {here.cluster_id}
            near = await see(f"/events?infra_env_id={here.infra_env_id}")
            assert {each["cluster_id"] for each in near} == {here.cluster_id}
            assert other.cluster_id not in {each.get("cluster_id") for each in await see("/events")}

    play(scene)
