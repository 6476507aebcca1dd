# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI document and the page that is made from it: everything is there, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from muster.service.api.openapi import build_openapi, tag_of
from muster.service.api.openapi_page import render_api
from muster.service.api.table import ROUTES
from muster.service.api.table.route import Route
from muster.service.auth.personas import Persona

DOCUMENT: Final = build_openapi(ROUTES, "1.2.3")
ALL: Final = [pytest.param(route, id=route.operation_id) for route in ROUTES]


def operation(route: Route) -> dict[str, Any]:
    found: dict[str, Any] = DOCUMENT["paths"][route.path][route.method.lower()]
    return found


def named(operation_id: str) -> dict[str, Any]:
    return operation(next(route for route in ROUTES if route.operation_id == operation_id))


@pytest.mark.parametrize("route", ALL)
def test_every_operation_is_there(route: Route) -> None:
    found = operation(route)
    assert (found["operationId"], found["summary"]) == (route.operation_id, route.summary)
    assert str(route.ok_status) in found["responses"]
    in_path = [each["name"] for each in found.get("parameters", ()) if each["in"] == "path"]
    assert in_path == [part[1:-1] for part in route.path.split("/") if part.startswith("{")]


@pytest.mark.parametrize("route", ALL)
def test_who_may_call_is_said(route: Route) -> None:
    found = operation(route)
    open_to_all = Persona.ANYONE in route.who
    assert (found["security"] == []) == open_to_all
    # A login may be wrong, though anyone may try.
    assert ("401" in found["responses"]) == (not open_to_all or route.operation_id == "v2Login")
    assert found["x-personas"] == sorted(route.who)


def test_each_persona_has_its_way_in() -> None:
    schemes = [next(iter(each)) for each in named("v2DownloadInfraEnvFiles")["security"]]
    assert schemes == ["imageAuth", "imageURLAuth", "userAuth", "urlAuth"]
    assert named("v2GetNextSteps")["security"] == [{"agentAuth": []}]
    assert set(schemes) | {"agentAuth", "watcherAuth"} == set(DOCUMENT["components"]["securitySchemes"])


def test_parameters() -> None:
    found = {each["name"]: each for each in named("v2ListEvents")["parameters"]}
    assert found["host_ids"]["schema"] == {"type": "array", "items": {"type": "string", "format": "uuid"}}
    assert (found["host_ids"]["style"], found["host_ids"]["explode"]) == ("form", False)
    assert found["offset"]["schema"] == {"type": "integer", "minimum": 0}
    needed = [each["name"] for each in named("V2DownloadClusterFiles")["parameters"] if each.get("required")]
    assert needed == ["cluster_id", "file_name"]
    in_path = named("v2GetHost")["parameters"][0]
    assert in_path["schema"] == {"type": "string", "format": "uuid"}
    assert named("v2GetNextSteps")["parameters"][-1]["in"] == "header"


def test_bodies_and_answers() -> None:
    created = named("v2RegisterCluster")
    reference = {"$ref": "#/components/schemas/ClusterCreateParams"}
    assert created["requestBody"]["content"]["application/json"]["schema"] == reference
    uploaded = named("V2UploadLogs")["requestBody"]
    assert (list(uploaded["content"]), uploaded["required"]) == (["multipart/form-data"], False)
    assert list(named("V2DownloadClusterFiles")["responses"]["200"]["content"]) == [
        "application/octet-stream"
    ]
    assert "content" not in named("v2DeregisterCluster")["responses"]["204"]
    assert "204" in named("DownloadMinimalInitrd")["responses"]
    assert "Event-Count" in named("v2ListEvents")["responses"]["200"]["headers"]


def test_errors_have_two_shapes() -> None:
    responses = DOCUMENT["components"]["responses"]
    wanted = {"Error": ("BadRequest", "NotFound", "Conflict", "Failure"), "InfraError": ("Unauthorized",)}
    for shape, names in wanted.items():
        for name in names:
            schema = responses[name]["content"]["application/json"]["schema"]
            assert schema == {"$ref": f"#/components/schemas/{shape}"}
    assert len(responses["Forbidden"]["content"]["application/json"]["schema"]["anyOf"]) == 2


def test_it_is_the_same_every_time() -> None:
    assert json.dumps(build_openapi(ROUTES, "1.2.3")) == json.dumps(DOCUMENT)
    assert DOCUMENT["info"]["version"] == "1.2.3"


def test_references_lead_somewhere() -> None:
    for reference in _references(DOCUMENT):
        place: Any = DOCUMENT
        for part in reference.removeprefix("#/").split("/"):
            place = place[part]


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for each in node.values():
            yield from _references(each)
    elif isinstance(node, list):
        for each in node:
            yield from _references(each)


def test_objects_say_what_they_are() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    assert all(schema["description"].endswith(".") for schema in schemas.values())
    assert {"Cluster", "Host", "InfraEnv", "Inventory", "StepReply", "Error"} <= set(schemas)
    assert schemas["Host"]["required"] == ["kind", "id", "href", "status", "status_info"]
    created = schemas["Host"]["properties"]["created_at"]
    assert created == {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]}


def test_some_operations_give_some_of_the_document() -> None:
    few = [route for route in ROUTES if route.operation_id in ("v2GetHost", "health")]
    document = build_openapi(few, "1")
    assert [tag["name"] for tag in document["tags"]] == [tag_of(route) for route in few]
    assert "ClusterCreateParams" not in document["components"]["schemas"]


def test_the_page_has_every_operation_and_object() -> None:
    page = render_api(DOCUMENT)
    headings = {line.removeprefix("### ") for line in page.splitlines() if line.startswith("### ")}
    operations = {f"{route.method} {route.path}" for route in ROUTES}
    assert headings == operations | set(DOCUMENT["components"]["schemas"])
    assert max(map(len, page.splitlines())) < 2000


def test_the_page_reads_well() -> None:
    lines = render_api(DOCUMENT).splitlines()
    assert "- body: [ClusterCreateParams](#clustercreateparams)" in lines
    assert "- 200: list of [Event](#event)" in lines
    assert "- query `folder` (`manifests`, `openshift`): `manifests` if it is not given." in lines
    assert "| `created_at` | time | **Required.** |" in lines
    assert "| `versions` | map of text to text |  |" in lines
