# SPDX-License-Identifier: Apache-2.0
"""Everybody calls everything: who is let in is what the table says, and what the docs say."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric import ec

from muster.service.adapters import epoch_of
from muster.service.api.agents import TOKEN_HEADER
from muster.service.api.table import ROUTES
from muster.service.api.table.route import Route
from muster.service.auth.keys import make_key_ring
from muster.service.auth.personas import Grant, Persona, Scope
from muster.service.auth.tokens import Tokens
from muster.service.edge.limits import RATES
from muster.service.edge.limits import Settings as LimitSettings
from muster.service.edge.rate import Rate
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


async def register(site: Whole, place: Place, token: str = "", host: str = "") -> str:
    """A host registers, with the token of its medium unless it has another; the token that it gets."""
    path, body = f"/infra-envs/{place.infra_env_id}/hosts", {"host_id": host or place.host_id}
    got = await site.ask("POST", path, body, X_Secret_Key=token or site.agent_token(place.infra_env_id))
    assert got.status == 201, got.body
    return got.headers[TOKEN_HEADER]


def cast(site: Whole, here: Place, other: Place) -> list[Somebody]:
    """All who may come, people last: what they are allowed to do changes things."""
    issue, soon = site.running.tokens.issue, time.time() + HOUR
    own = site.running.service.around.host_tokens.issue
    epoch = epoch_of(site.running.engine.infra_env(here.infra_env_id))
    key = ec.generate_private_key(ec.SECP256R1())
    forged = Tokens(make_key_ring([key]))
    user = Grant(Persona.USER, expires=soon)
    image = Grant(Persona.IMAGE, Scope(here.infra_env_id), soon, epoch=epoch)
    worthless = Grant(Persona.IMAGE, Scope(here.infra_env_id), soon, epoch=epoch + 1)
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
        Somebody("agent", "X-Secret-Key", site.agent_token(here.infra_env_id)),
        Somebody("agent of another", "X-Secret-Key", site.agent_token(other.infra_env_id)),
        Somebody("host", "X-Secret-Key", own(here.infra_env_id, here.host_id)),
        Somebody("neighbour", "X-Secret-Key", own(here.infra_env_id, HOSTS[1])),
        Somebody("user", "Authorization", f"Bearer {site.token}"),
    ]


def expected(who: str, route: Route) -> int | None:
    """What the table means for somebody: 401, 403, or that they are let in."""
    if Persona.ANYONE in route.who:
        return None
    if who in ("nobody", "expired", "forged", "garbage"):
        return 401
    persona = Persona({"host": "agent", "neighbour": "agent"}.get(who, who.split(" ", maxsplit=1)[0]))
    if persona not in route.who or who == "image of an older key":
        return 403
    is_about_one = "{" in route.path
    if who.endswith("of another") and (is_about_one or not route.narrows):
        return 403
    if who == "neighbour" and "{host_id}" in route.path:
        return 403
    return None


async def status_of(site: Whole, who: Somebody, route: Route, path: str) -> int:
    """How a call ends; of what goes on and on only the beginning is looked at."""
    data = b"{}" if route.method in ("POST", "PUT", "PATCH") else None
    url = site.running.url + path
    async with site.session.request(route.method, url, data=data, headers=who.headers) as got:
        return got.status


def test_everybody_calls_everything(tmp_path: Path) -> None:
    found: dict[tuple[str, str], int] = {}

    async def scene() -> None:
        async with open_service(tmp_path, limits=UNHURRIED) as site:
            here = await furnish(site, "alpha", HOSTS[0])
            await register(site, here, host=HOSTS[1])
            other = await furnish(site, "beta", HOSTS[2])
            routes = sorted(ROUTES, key=lambda each: each.method == "DELETE")
            for who in cast(site, here, other):
                for route in routes:
                    got = await status_of(site, who, route, here.path_of(route))
                    found[who.name, route.operation_id] = got

    play(scene)
    assert not [each for each, status in found.items() if status >= 500 and status not in (501, 503)]
    let_in = {each: status if status in (401, 403) else None for each, status in found.items()}
    wanted = {(who, route.operation_id): expected(who, route) for who, _ in found for route in ROUTES}
    assert {each: (let_in[each], wanted[each]) for each in wanted if let_in[each] != wanted[each]} == {}
    assert _as_documented(let_in) == _documented()


def _as_documented(let_in: Mapping[tuple[str, str], int | None]) -> dict[str, dict[str, bool]]:
    people = ("user", "agent", "watcher", "image")
    return {
        f"{route.method} {route.path}": {who: let_in[who, route.operation_id] is None for who in people}
        for route in ROUTES
    }


def _documented() -> dict[str, dict[str, bool]]:
    """The table of the docs, read again."""
    rows = [
        line.strip("| \n").split(" | ") for line in ACCESS.read_text().splitlines() if line.startswith("| ")
    ]
    (head,) = (row for row in rows if row[0] == "operation")
    found = {}
    for row in rows:
        if row[0].startswith("`"):
            cells = dict(zip(head, (cell.strip() for cell in row), strict=True))
            marks = {who: cells[who] != "" for who in ("user", "agent", "watcher", "image")}
            found[cells["operation"].strip("`")] = marks
    return found


# Tokens of hosts


async def poll(site: Whole, place: Place, token: str) -> Answer:
    path = f"/infra-envs/{place.infra_env_id}/hosts/{place.host_id}/instructions"
    return await site.ask("GET", path, X_Secret_Key=token)


def test_a_host_has_its_own_token_until_it_boots_its_medium_again(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            here = await furnish(site, "alpha", HOSTS[0])
            medium = site.agent_token(here.infra_env_id)
            assert (await poll(site, here, medium)).status == 200
            first = await register(site, here)
            assert (await poll(site, here, first)).status == 200
            assert "own" in (await poll(site, here, medium)).json["message"]
            # The agent starts again: nothing changes.
            assert (await poll(site, here, await register(site, here, first))).status == 200
            assert (await poll(site, here, first)).status == 200
            # The machine starts again: all that it has is its medium.
            second = await register(site, here)
            refused = await poll(site, here, first)
            assert (refused.status, "registered again" in refused.json["message"]) == (403, True)
            assert (await poll(site, here, second)).status == 200
            events = (await site.ask("GET", f"/events?cluster_id={here.cluster_id}&severities=warning")).json
            assert "host_enrolled_again" in [each["name"] for each in events]

    play(scene)


def test_a_host_cannot_be_taken_from_another_infra_env(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            here = await furnish(site, "alpha", HOSTS[0])
            other = await furnish(site, "beta", HOSTS[2])
            path = f"/infra-envs/{other.infra_env_id}/hosts"
            token = site.agent_token(other.infra_env_id)
            got = await site.ask("POST", path, {"host_id": here.host_id}, X_Secret_Key=token)
            assert got.status == 409, got.body
            assert (await poll(site, here, site.agent_token(here.infra_env_id))).status == 200

    play(scene)


# What scoped tokens see


def test_events_are_told_of_what_a_token_is_for(tmp_path: Path) -> None:
    async def scene() -> None:
        async with open_service(tmp_path) as site:
            here = await furnish(site, "alpha", HOSTS[0])
            other = await furnish(site, "beta", HOSTS[2])
            await register(site, here, host=HOSTS[1])
            token = site.agent_token(here.infra_env_id)
            own = site.running.service.around.host_tokens.issue(here.infra_env_id, here.host_id)

            async def tell(who: str, **ids: str) -> int:
                event = {"severity": "info", "message": "m", "event_time": "2026-01-01T00:00:00Z", **ids}
                return (await site.ask("POST", "/events", event, X_Secret_Key=who)).status

            assert await tell(token, cluster_id=here.cluster_id) == 201
            assert await tell(token, host_id=here.host_id, props='{"severity": 1, "name": "a"}') == 201
            assert await tell(token, infra_env_id=here.infra_env_id) == 201
            assert await tell(own, host_id=here.host_id) == 201
            assert await tell(own, cluster_id=here.cluster_id) == 201
            assert await tell(own, host_id=HOSTS[1]) == 403
            assert await tell(own, infra_env_id=here.infra_env_id) == 403
            assert await tell(token, cluster_id=other.cluster_id) == 403
            assert await tell(token, host_id=other.host_id) == 403
            assert await tell(token, infra_env_id=other.infra_env_id) == 403
            assert await tell(token) == 400
            assert await tell(token, host_id=here.host_id, props="[]") == 400

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
            own = site.running.service.around.host_tokens.issue(here.infra_env_id, here.host_id)
            hosts = await see(f"/infra-envs/{here.infra_env_id}/hosts", X_Secret_Key=own)
            assert [each["id"] for each in hosts] == [here.host_id]
            all_of_them = await see(
                f"/infra-envs/{here.infra_env_id}/hosts", X_Secret_Key=site.agent_token(here.infra_env_id)
            )
            assert [each["id"] for each in all_of_them] == [*HOSTS[:2]]
            assert other.cluster_id not in {each.get("cluster_id") for each in await see("/events")}

    play(scene)
