# SPDX-License-Identifier: Apache-2.0
"""What is asked of the API of a cluster, and what its answers mean."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from muster.model.setting_up import Ready
from muster.node.answers import NO_HEADERS, Answer, Refusal, parse_warnings
from muster.node.cluster_api import ClusterApi
from tests.unit.service.running import finish

APPLY = "?fieldManager=muster&force=true&fieldValidation=Strict"
SILENCE = Answer(0, b"no connection: connection refused")


def resource(plural: str, kind: str, scope: str = "Namespaced") -> dict[str, Any]:
    return {"resource": plural, "scope": scope, "responseKind": {"group": "", "version": "", "kind": kind}}


def group(name: str, *resources: dict[str, Any]) -> dict[str, Any]:
    versions = [{"version": "v1", "resources": resources, "freshness": "Current"}]
    return {"metadata": {"name": name, "creationTimestamp": None}, "versions": versions}


CORE = group("", resource("configmaps", "ConfigMap"), resource("secrets", "Secret"))
GROUPS = [
    group("rbac.authorization.k8s.io", resource("clusterroles", "ClusterRole", "Cluster")),
    group(
        "apiextensions.k8s.io", resource("customresourcedefinitions", "CustomResourceDefinition", "Cluster")
    ),
]
ROUTES = group("example.com", resource("routes", "Route"))


def refused(status: int, message: str, **more: Any) -> Answer:
    return Answer(status, json.dumps({"kind": "Status", "message": message, **more}).encode())


class World:
    """An API that accepts all that it is not told to refuse."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[str] = []
        self.bodies: list[Any] = []
        self.headers: list[Mapping[str, str]] = []
        self.answers: dict[str, Answer] = {}
        self.groups = list(GROUPS)
        self.slept: list[float] = []
        self.cluster = ClusterApi(self, folder, self.sleep)

    async def request(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] = NO_HEADERS
    ) -> Answer:
        self.asked.append(f"{method} {path}")
        self.bodies.append(json.loads(body) if body else None)
        self.headers.append(headers)
        if (answer := self.answers.get(path.partition("?")[0])) is not None:
            return answer
        kinds = {"/api": {"items": [CORE]}, "/apis": {"items": self.groups}}
        return Answer(200, json.dumps(kinds.get(path, {})).encode())

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def apply(self, *texts: str) -> Refusal | None:
        names = [f"{number}.yaml" for number in range(len(texts))]
        for name, text in zip(names, texts, strict=True):
            (self.folder / name).write_text(text)
        self.asked.clear()
        return finish(self.cluster.apply(*names))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def an(kind: str, name: str, version: str = "v1", **more: Any) -> str:
    return json.dumps({"apiVersion": version, "kind": kind, "metadata": {"name": name}, **more})


MAPS = "/api/v1/namespaces/default/configmaps"
DEFINITION = an(
    "CustomResourceDefinition",
    "routes.example.com",
    "apiextensions.k8s.io/v1",
    spec={"group": "example.com", "names": {"kind": "Route", "plural": "routes"}},
)
ROUTE = an("Route", "home", "example.com/v1")
UNKNOWN = "Route/home: no kind Route of example.com/v1 is known in the cluster"


def test_objects_are_applied_one_by_one_at_their_places(world: World) -> None:
    spaced = '{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "shop"}}'
    role = an("ClusterRole", "shop:reader", "rbac.authorization.k8s.io/v1")
    assert world.apply(f"{an('ConfigMap', 'a')}\n---\n{spaced}", role) is None
    assert world.asked == [
        "GET /api",
        f"PATCH {MAPS}/a{APPLY}",
        f"PATCH /api/v1/namespaces/shop/secrets/s{APPLY}",
        "GET /apis",
        f"PATCH /apis/rbac.authorization.k8s.io/v1/clusterroles/shop%3Areader{APPLY}",
    ]
    assert world.headers[0]["Accept"].endswith(";v=v2;as=APIGroupDiscoveryList")
    assert world.headers[1] == {"Content-Type": "application/apply-patch+yaml"}
    assert world.bodies[1] == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    assert world.apply(role) is None
    assert len(world.asked) == 1, "what is known of kinds is kept"


def test_one_that_is_refused_does_not_keep_others_from_it(world: World) -> None:
    world.answers[f"{MAPS}/a"] = refused(409, "somebody\n  else has it")
    found = world.apply(f"{an('ConfigMap', 'a')}\n---\n{an('ConfigMap', 'b')}", "- x", an("ConfigMap", "c"))
    assert found == Refusal(
        "0.yaml is not accepted: ConfigMap/a: somebody else has it; "
        "1.yaml is not accepted: document 1 is no object with apiVersion and kind",
        is_final=True,
    )
    assert world.asked[-2:] == [f"PATCH {MAPS}/b{APPLY}", f"PATCH {MAPS}/c{APPLY}"]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422, 429, 500, 503])
def test_only_what_no_waiting_mends_is_final(world: World, status: int) -> None:
    world.answers[f"{MAPS}/a"] = refused(status, "no")
    is_final = status in (400, 422)
    assert world.apply(an("ConfigMap", "a")) == Refusal("0.yaml is not accepted: ConfigMap/a: no", is_final)


def test_a_field_that_nobody_knows_is_final(world: World) -> None:
    why = "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .dta: field not declared in schema"
    world.answers[f"{MAPS}/a"] = refused(500, why)
    assert world.apply(an("ConfigMap", "a")) == Refusal(f"0.yaml is not accepted: ConfigMap/a: {why}", True)


@pytest.mark.parametrize("body", [b"", b"Too many requests", b"[]", b'{"message": 3}'])
def test_an_answer_that_is_no_status_is_told_by_its_number(world: World, body: bytes) -> None:
    world.answers[f"{MAPS}/a"] = Answer(429, body)
    found = world.apply(an("ConfigMap", "a"))
    assert found == Refusal("0.yaml is not accepted: ConfigMap/a: the API answers with status 429")


def test_words_are_not_too_many(world: World) -> None:
    world.answers[f"{MAPS}/a"] = refused(500, "long " * 1000)
    found = world.apply(an("ConfigMap", "a"), an("ConfigMap", "a"))
    assert found is not None
    assert len(found.words) == 500


def test_nothing_of_a_secret_is_told(world: World) -> None:
    path = "/api/v1/namespaces/default/secrets/s"
    causes = {"causes": [{"field": "data[key]", "message": "4711"}, {"field": "data[key]"}, {}]}
    world.answers[path] = refused(422, 'Invalid value: "4711"', reason="Invalid", details=causes)
    words = "0.yaml is not accepted: Secret/s: the API answers with status 422 (Invalid: data[key])"
    assert world.apply(an("Secret", "s", data={"key": 4711})) == Refusal(words, is_final=True)
    world.answers[path] = refused(500, "failed to create typed patch object: expected string, got 4711")
    words = "0.yaml is not accepted: Secret/s: the API answers with status 500"
    assert world.apply(an("Secret", "s")) == Refusal(words, is_final=True)
    world.answers[path] = refused(404, 'namespaces "x" not found')
    found = world.apply(an("Secret", "s"))
    assert found == Refusal('0.yaml is not accepted: Secret/s: namespaces "x" not found')


def test_where_nobody_answers_nothing_else_is_asked(world: World) -> None:
    world.answers[f"{MAPS}/a"] = SILENCE
    found = world.apply(f"{an('ConfigMap', 'a')}\n---\n{an('ConfigMap', 'b')}", an("ConfigMap", "c"))
    words = "0.yaml is not accepted: ConfigMap/a: no connection: connection refused"
    assert found == Refusal(words, is_silence=True)
    assert world.asked == ["GET /api", f"PATCH {MAPS}/a{APPLY}"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (SILENCE, "the kinds of the cluster are not known: no connection: connection refused"),
        (refused(403, "no"), "the kinds of the cluster are not known: no"),
        (Answer(200, b'{"items": 3}'), "what the API says of its kinds cannot be understood: "),
    ],
)
def test_kinds_that_the_api_does_not_tell_are_asked_for_again(
    world: World, answer: Answer, words: str
) -> None:
    world.answers["/api"] = answer
    found = world.apply(an("ConfigMap", "a"))
    assert found is not None
    assert found.words.startswith(f"0.yaml is not accepted: ConfigMap/a: {words}")
    assert not found.is_final
    del world.answers["/api"]
    assert world.apply(an("ConfigMap", "a")) is None


def test_a_kind_that_came_meanwhile_is_asked_for(world: World) -> None:
    assert world.apply(ROUTE) == Refusal(f"0.yaml is not accepted: {UNKNOWN}")
    world.groups.append(ROUTES)
    assert world.apply(ROUTE) is None
    assert world.asked == ["GET /apis", f"PATCH /apis/example.com/v1/namespaces/default/routes/home{APPLY}"]
    assert world.slept == []


def test_a_kind_that_was_defined_just_now_is_waited_for(world: World) -> None:
    found = world.apply(DEFINITION, ROUTE)
    assert found == Refusal(f"1.yaml is not accepted: {UNKNOWN}")
    assert world.slept == [0.5] * 9
    world.slept.clear()
    assert world.apply(ROUTE) is not None
    assert world.slept == [], "one that takes longer is waited for by who tries again"
    later = World(world.folder)
    later.groups = list(GROUPS)

    async def sleep(_: float) -> None:
        later.groups.append(ROUTES)

    later.cluster = ClusterApi(later, later.folder, sleep)
    assert later.apply(f"{DEFINITION}\n---\n{ROUTE}") is None


def test_a_part_of_a_definition_defines_no_kind(world: World) -> None:
    assert world.apply(an("CustomResourceDefinition", "x", "apiextensions.k8s.io/v1")) is None
    world.answers["/apis/apiextensions.k8s.io/v1/customresourcedefinitions/routes.example.com"] = SILENCE
    assert world.apply(DEFINITION) is not None
    assert world.apply(ROUTE) is not None
    assert world.slept == []


def test_a_file_that_cannot_be_read_may_come(world: World) -> None:
    found = finish(world.cluster.apply("absent.yaml"))
    assert found == Refusal("absent.yaml is not accepted: it cannot be read: no such file or directory")


def test_nodes_are_known_by_name(world: World) -> None:
    assert finish(world.cluster.node_names()) == frozenset()
    body = {"items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]}
    world.answers["/api/v1/nodes"] = Answer(200, json.dumps(body).encode())
    assert finish(world.cluster.node_names()) == {"a", "b"}
    for answer in (SILENCE, refused(403, "no"), Answer(200, b"?")):
        world.answers["/api/v1/nodes"] = answer
        assert finish(world.cluster.node_names()) == frozenset()


@pytest.mark.parametrize(
    ("answer", "is_there", "looks"),
    [(Answer(200), True, 1), (Answer(404), False, 30), (SILENCE, False, 1), (Answer(500), False, 1)],
)
def test_a_node_is_waited_for_a_while(world: World, answer: Answer, looks: int, *, is_there: bool) -> None:
    world.answers["/api/v1/nodes/a"] = answer
    assert finish(world.cluster.await_node("a")) is is_there
    assert world.asked == ["GET /api/v1/nodes/a"] * looks
    assert sum(world.slept) == (15 if looks > 1 else 0)


def test_nodes_get_labels(world: World) -> None:
    assert finish(world.cluster.label("role/worker", "a", "b")) is None
    assert world.asked == [f"PATCH /api/v1/nodes/{name}?fieldManager=muster" for name in "ab"]
    assert world.bodies == [{"metadata": {"labels": {"role/worker": ""}}}] * 2
    assert world.headers == [{"Content-Type": "application/merge-patch+json"}] * 2
    world.answers["/api/v1/nodes/a"] = refused(404, "not found")
    found = finish(world.cluster.label("role/worker", "a", "b"))
    assert found == Refusal("a: the role cannot be noted: not found")
    world.answers["/api/v1/nodes/a"] = SILENCE
    found = finish(world.cluster.label("role/worker", "a", "b"))
    assert found == Refusal(f"a: the role cannot be noted: {SILENCE.words}", is_silence=True)
    assert len(world.asked) == 5


@pytest.mark.parametrize(
    ("answer", "words", "is_ready"),
    [
        (Answer(200, b'{"kind": "StorageClass"}'), "slow is there", True),
        (refused(404, "not found"), "slow is not there yet", False),
        (refused(403, "you may not"), "you may not", False),
        (SILENCE, SILENCE.words, False),
    ],
)
def test_conditions_are_looked_at(world: World, answer: Answer, words: str, *, is_ready: bool) -> None:
    world.answers["/apis/storage.k8s.io/v1/storageclasses/slow"] = answer
    found = finish(world.cluster.judge(Ready("storage-class-exists", "slow")))
    assert (found.is_ready, found.words) == (is_ready, words)


def test_the_mark_is_set_and_found(world: World) -> None:
    path = "/api/v1/namespaces/kube-system/configmaps/m"
    assert finish(world.cluster.set_mark("m")) is None
    assert world.asked == [f"PATCH {path}{APPLY}"]
    assert world.bodies == [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}}]
    unknown = "whether the cluster was set up before is not known"
    for answer, mark in (
        (Answer(200), "there"),
        (refused(404, "not found"), "absent"),
        (refused(401, "Unauthorized"), "locked out"),
        (SILENCE, Refusal(f"{unknown}: {SILENCE.words}", is_silence=True)),
        (refused(503, "not yet"), Refusal(f"{unknown}: not yet")),
    ):
        world.answers[path] = answer
        assert finish(world.cluster.find_mark("m")) == mark
    world.answers[path] = SILENCE
    found = finish(world.cluster.set_mark("m"))
    assert found == Refusal(f"the end of it cannot be noted: {SILENCE.words}", is_silence=True)


@pytest.mark.parametrize(
    ("headers", "texts"),
    [
        ([], ()),
        (['299 - "one"', '299 kube "two \\"quoted\\" \\\\"'], ("one", 'two "quoted" \\')),
        (['299 - "one", 299 - "two\n words"'], ("one", "two words")),
        (['110 proxy "stale"', "299 - unquoted", '299 - "no end', ""], ()),
        ([f'299 - "{"x" * 5000}"'], ("x" * 500,)),
        (["299 - " * 10_000 + '"' * 9_999], ("",)),
    ],
)
def test_warnings_are_read_from_headers(headers: list[str], texts: tuple[str, ...]) -> None:
    assert parse_warnings(headers)[: len(texts) or 1] == texts


def test_a_secret_is_not_quoted_in_a_warning(world: World) -> None:
    for place in (MAPS, MAPS.replace("configmaps", "secrets")):
        world.answers[f"{place}/x"] = Answer(200, b"{}", ("quotes something",))
    assert world.apply(an("ConfigMap", "x"), an("Secret", "x")) is None
    assert world.cluster.take_warnings() == {"ConfigMap/x": ("quotes something",)}
    assert world.cluster.take_warnings() == {}
