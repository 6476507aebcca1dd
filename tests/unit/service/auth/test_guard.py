# SPDX-License-Identifier: Apache-2.0
"""Requests at the door, with the tokens where clients put them."""

from __future__ import annotations

import pytest

from muster.certificates.keys import P256, make_key
from muster.service.api.table import ROUTES
from muster.service.auth.credentials import Knock, asked_of, find_credentials, link_of
from muster.service.auth.guard import Guard
from muster.service.auth.keys import make_key_ring
from muster.service.auth.personas import Grant, Persona, Scope
from muster.service.auth.sessions import csrf_of
from muster.service.auth.tokens import Tokens
from tests.unit.service.auth.ties import Known, repeatable

NOW = 1_800_000_000.0
BY_NAME = {route.operation_id: route for route in ROUTES}
KEY = make_key(P256, repeatable("guard"))
TOKENS = Tokens(make_key_ring([KEY]))  # type: ignore[list-item]
ENDED = {"ended"}
GUARD = Guard(TOKENS, ENDED, Known())


def token(persona: Persona, **more: object) -> bytes:
    return TOKENS.issue(Grant(persona, expires=NOW + 9, **more)).encode()  # type: ignore[arg-type]


USER, AGENT, WATCHER = token(Persona.USER), token(Persona.MEDIUM), token(Persona.WATCHER)


def status(
    operation: str, *headers: tuple[bytes, bytes], query: bytes = b"", ids: dict[str, str] | None = None
) -> int:
    route = BY_NAME[operation]
    knock = Knock(route.method, route.path, query, headers, ids or {})
    return GUARD.admit(route, knock, NOW).verdict.status


@pytest.mark.parametrize("value", [USER, b"Bearer " + USER, b"bearer  " + USER])
def test_users_come_with_and_without_bearer(value: bytes) -> None:
    assert status("v2ListClusters", (b"authorization", value)) == 0


def test_each_kind_of_client_has_its_header() -> None:
    assert status("v2RegisterHost", (b"x-secret-key", AGENT)) == 0
    assert status("v2ListClusters", (b"watcher-authorization", WATCHER)) == 0
    name, ids = "v2DownloadInfraEnvFiles", {"infra_env_id": "env"}
    link = f"{BY_NAME[name].path}?file_name=ipxe-script"
    image = token(Persona.IMAGE, scope=Scope("env"), link=link)
    query = b"file_name=ipxe-script"
    assert status(name, (b"image-token", image), query=query, ids=ids) == 0
    assert status(name, query=query + b"&image_token=" + image, ids=ids) == 0
    assert status(name, query=query + b"&image_token=" + image + b"&mac=52:54:00:00:00:01", ids=ids) == 0
    assert status(name, query=query + b"&image_token=" + image, ids={"infra_env_id": "other"}) == 403
    assert status(name, query=b"file_name=discovery.ign&image_token=" + image, ids=ids) == 403


def test_nothing_and_nonsense() -> None:
    assert status("v2ListClusters") == 401
    assert status("v2ListClusters", (b"authorization", b"")) == 401
    assert status("v2ListClusters", (b"authorization", b"Basic abc")) == 401
    assert status("v2ListClusters", (b"authorization", b"\xff\xfe.\x00.x")) == 401
    assert status("v2ListClusters", (b"x-secret-key", AGENT)) == 403
    assert status("health", (b"authorization", b"nonsense")) == 0


def test_of_several_tokens_the_one_that_fits_counts() -> None:
    both = ((b"authorization", b"nonsense"), (b"x-secret-key", AGENT), (b"watcher-authorization", WATCHER))
    assert status("v2ListClusters", *both) == 0
    assert status("v2RegisterCluster", *both) == 403


def test_an_ended_session_is_over() -> None:
    assert status("v2ListClusters", (b"authorization", token(Persona.USER, session="ended"))) == 401


def test_a_token_of_a_person_does_not_belong_into_an_address() -> None:
    assert status("v2ListEvents", query=b"api_key=" + USER) == 401


def test_a_signed_address_opens_itself_only() -> None:
    route = BY_NAME["V2DownloadClusterFiles"]
    path = route.path.replace("{cluster_id}", "c")
    link = token(Persona.USER, scope=Scope(cluster_id="c"), link=f"{path}?file_name=metadata.json")

    def opened(query: bytes, path: str = path, cluster: str = "c") -> int:
        knock = Knock("GET", path, query, (), {"cluster_id": cluster})
        return GUARD.admit(route, knock, NOW).verdict.status

    assert opened(b"file_name=metadata.json&api_key=" + link) == 0
    assert opened(b"api_key=" + link + b"&file_name=metadata.json") == 0
    assert opened(b"file_name=bootstrap.ign&api_key=" + link) == 403
    assert opened(b"file_name=metadata.json&file_name=bootstrap.ign&api_key=" + link) == 403
    assert opened(b"file_name=metadata.json&api%5Fkey=" + link) == 403
    assert opened(b"file_name=metadata.json&api_key=" + link, path="/other", cluster="d") == 403


def test_a_cookie_needs_its_second_lock_to_change_something() -> None:
    cookie = (b"cookie", b"a=b; __Host-muster=" + token(Persona.USER, session="s"))
    lock = (b"x-csrf-token", csrf_of("s").encode())
    assert status("v2ListClusters", cookie) == 0
    assert status("v2RegisterCluster", cookie) == 403
    assert status("v2RegisterCluster", cookie, (b"x-csrf-token", csrf_of("t").encode())) == 403
    assert status("v2RegisterCluster", cookie, lock) == 0
    assert status("v2RegisterCluster", (b"authorization", token(Persona.USER, session="s"))) == 0


def test_a_request_that_names_two_things_is_refused() -> None:
    header = (b"authorization", token(Persona.WATCHER, scope=Scope(cluster_id="mine")))
    assert status("v2ListEvents", header, query=b"cluster_id=mine") == 0
    assert status("v2ListEvents", header, query=b"cluster_id=mine&cluster_id=other") == 403
    assert status("v2GetCluster", header, query=b"cluster_id=mine", ids={"cluster_id": "other"}) == 403


def test_who_is_calling_is_known_where_nobody_has_to_say_it() -> None:
    route = BY_NAME["v2GetLogin"]
    knock = Knock("GET", route.path, b"", ((b"authorization", USER),), {})
    admission = GUARD.admit(route, knock, NOW)
    assert admission.verdict.is_allowed
    assert admission.grant is not None
    assert GUARD.admit(route, Knock("GET", route.path, b"", (), {}), NOW).grant is None


def test_pieces() -> None:
    assert link_of("/a", b"") == "/a"
    assert link_of("/a", b"api_key=x") == "/a"
    assert link_of("/a", b"b=1&image_token=x&c=2") == "/a?b=1&c=2"
    assert asked_of({}, b"host_id=h&x=y") == Scope(host_id="h")
    assert asked_of({"cluster_id": "a"}, b"cluster_id=a") == Scope(cluster_id="a")
    assert "secret" not in repr(find_credentials([(b"authorization", b"secret")], b""))
