# SPDX-License-Identifier: Apache-2.0
"""Everybody calls everything: who is let in is what the table says, and what the docs say."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric import ec

from muster.service.adapters import epoch_of
from muster.service.api.table import ROUTES
from muster.service.api.table.route import Route
from muster.service.auth.keys import make_key_ring
from muster.service.auth.personas import Grant, Persona, Scope
from muster.service.auth.tokens import Tokens
from muster.service.edge.limits import Settings as LimitSettings
from muster.service.edge.rate import Rate
from tests.component.service.whole import PULL_SECRET, Whole, open_service, play

ACCESS: Final = Path(__file__).parents[3] / "docs/reference/access.md"
UNHURRIED: Final = LimitSettings(rates=dict.fromkeys(("people", "hosts"), Rate(1e6, 1e6)))
HOSTS: Final = ("0f8fad5b-d9cb-469f-a165-70867728950e", "7c9e6679-7425-40de-944b-e07fc1f90ae7")
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
    token = site.agent_token(made["infra_env_id"])
    path = f"/infra-envs/{made['infra_env_id']}/hosts"
    got = await site.ask("POST", path, {"host_id": host}, X_Secret_Key=token)
    assert got.status == 201, got.body
    return Place(made["infra_env_id"], made["id"], host)


def cast(site: Whole, here: Place, other: Place) -> list[Somebody]:
    """All who may come, people last: what they are allowed to do changes things."""
    issue, soon = site.running.tokens.issue, time.time() + HOUR
    epoch = epoch_of(site.running.engine.infra_env(here.infra_env_id))
    key = ec.generate_private_key(ec.SECP256R1())
    forged = Tokens(make_key_ring([key]))
    user = Grant(Persona.USER, expires=soon)
    image = Grant(Persona.IMAGE, Scope(here.infra_env_id), soon, epoch=epoch)
    worthless = Grant(Persona.IMAGE, Scope(here.infra_env_id), soon, epoch=epoch + 1)
    one = Grant(Persona.AGENT, Scope(here.infra_env_id, None, here.host_id), soon)
    neighbour = Grant(Persona.AGENT, Scope(here.infra_env_id, None, HOSTS[1]), soon)
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
        Somebody("host", "X-Secret-Key", issue(one)),
        Somebody("neighbour", "X-Secret-Key", issue(neighbour)),
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
    if who == "neighbour" and ("{host_id}" in route.path or "{cluster_id}" in route.path):
        return 403  # It is in no cluster: it never registered.
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
            other = await furnish(site, "beta", "b5e2a1f4-6d2b-4c1e-9a55-0e7e8f6a1c11")
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
    rows = [line.strip("| \n").split(" | ") for line in ACCESS.read_text().splitlines() if line.startswith("| ")]
    (head,) = (row for row in rows if row[0] == "operation")
    found = {}
    for row in rows:
        if row[0].startswith("`"):
            cells = dict(zip(head, (cell.strip() for cell in row), strict=True))
            marks = {who: cells[who] != "" for who in ("user", "agent", "watcher", "image")}
            found[cells["operation"].strip("`")] = marks
    return found
