# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI 3.1 document, made from the table of operations and from the objects of the interface.

    document = build_openapi(ROUTES, "1.0.0")

Nothing in it is written by hand: what is wrong in it is wrong in the table or in an object.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from muster.model.wire import inventory, reports, steps
from muster.model.wire.files import Error, InfraError
from muster.model.wire.struct import Wire
from muster.service.api.table.route import Route
from muster.service.api.table.shape import FORM, JSON, OCTETS, Parameter, Shape
from muster.service.api.table.shapes import SHAPES
from muster.service.auth.personas import Persona

_REF: Final = "#/components/schemas/{name}"
_INSIDE: Final = (inventory, reports, steps)
"""Objects that travel as JSON in strings: no operation names them."""

_SCHEMES: Final[Mapping[str, tuple[str, str, str]]] = {
    "userAuth": ("header", "Authorization", "A person: `Bearer` and the token of a login."),
    "agentAuth": ("header", "X-Secret-Key", "What runs on a host: the token of its image, then its own."),
    "watcherAuth": ("header", "Watcher-Authorization", "One who only looks."),
    "imageAuth": ("header", "Image-Token", "One who fetches a medium or a piece of it."),
    "imageURLAuth": ("query", "image_token", "The same, for those who can send no header."),
    "urlAuth": ("query", "api_key", "Part of an address that was signed for one file."),
}
_SCHEMES_OF: Final[Mapping[Persona, tuple[str, ...]]] = {
    Persona.USER: ("userAuth",),
    Persona.HOST: ("agentAuth",),
    Persona.MEDIUM: ("agentAuth",),
    Persona.WATCHER: ("watcherAuth",),
    Persona.IMAGE: ("imageAuth", "imageURLAuth"),
}
_TAGS: Final = (
    ("manifests", r"/manifests", "Manifests that users add to a cluster."),
    ("hosts", r"/hosts", "Hosts, for people and for the agents on them."),
    ("infra-envs", r"/infra-envs?\b", "Discovery images, and what they are made of."),
    ("events", r"/(events|stream|why|steps)$", "What happened, what changes, and what is waited for."),
    ("files", r"/(downloads|logs|credentials|install-config|uploads)", "Files and credentials of a cluster."),
    ("clusters", r"/clusters", "Clusters, and their installation."),
    ("service", r"^(?!/api/)|/login$", "The service itself."),
    ("catalogue", r"", "What can be installed, and what it takes."),
)
_ERRORS: Final[Mapping[str, tuple[str, tuple[type[Wire], ...]]]] = {
    "BadRequest": ("What was asked cannot be right.", (Error,)),
    "Unauthorized": ("Nobody knows who is calling.", (InfraError,)),
    "Forbidden": ("It is not for this caller to ask.", (InfraError, Error)),
    "NotFound": ("There is no such thing.", (Error,)),
    "Conflict": ("It cannot be done in this state.", (Error,)),
    "Failure": ("It was not done; the reason says why.", (Error,)),
}


def build_openapi(routes: Iterable[Route], version: str) -> dict[str, Any]:
    """The document of these operations, as data for JSON; the same for the same routes."""
    listed = list(routes)
    shapes = {route.operation_id: SHAPES[route.operation_id] for route in listed}
    schemas = _Schemas(shapes.values())
    paths: dict[str, dict[str, Any]] = {}
    for route in listed:
        operation = _operation(route, shapes[route.operation_id], schemas)
        paths.setdefault(route.path, {})[route.method.lower()] = operation
    about = {name: text for name, _, text in _TAGS}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Muster",
            "version": version,
            "summary": "The assisted installer's interface, version 2, and what Muster adds to it.",
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": tag, "description": about[tag]} for tag in dict.fromkeys(map(tag_of, listed))],
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "responses": {name: _error(name, schemas) for name in _ERRORS},
            "securitySchemes": {
                name: {"type": "apiKey", "in": place, "name": key, "description": about}
                for name, (place, key, about) in _SCHEMES.items()
            },
        },
    }


def tag_of(route: Route) -> str:
    """The group that an operation is shown in."""
    return next(name for name, pattern, _ in _TAGS if re.search(pattern, route.path))


class _Schemas:
    """The schemas of all types that occur, by type."""

    def __init__(self, shapes: Iterable[Shape]) -> None:
        wanted: dict[Any, None] = dict.fromkeys((Error, InfraError))
        for shape in shapes:
            wanted.update(dict.fromkeys(each for each in (shape.body, shape.answer) if each is not None))
            wanted.update(dict.fromkeys(each.type for each in shape.parameters))
        for module in _INSIDE:
            found = (each for each in vars(module).values() if isinstance(each, type))
            wanted.update(
                dict.fromkeys(each for each in found if issubclass(each, Wire) and each is not Wire)
            )
        wanted.pop(bytes, None)
        made, components = msgspec.json.schema_components(wanted, ref_template=_REF)
        self._by_type = dict(zip(wanted, made, strict=True))
        self.components = {name: _tidy(components[name]) for name in sorted(components)}

    def of(self, type: Any) -> dict[str, Any]:
        """The schema of a type."""
        tidied: dict[str, Any] = _tidy(self._by_type[type])
        return tidied


def _tidy(schema: Any) -> Any:
    """A schema without what says nothing: names that are keys already, defaults that mean "not given"."""
    if isinstance(schema, list):
        return [_tidy(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _tidy(each) for name, each in value.items()} if key == "properties" else _tidy(value)
        for key, value in schema.items()
        if not (key == "title" or (key == "default" and value is None) or (key == "required" and not value))
    }


def _operation(route: Route, shape: Shape, schemas: _Schemas) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": route.operation_id,
        "tags": [tag_of(route)],
        "summary": route.summary,
        "security": _security(route, shape),
        "x-personas": sorted(str(each) for each in route.who),
    }
    parameters = [_path_parameter(name) for name in re.findall(r"{(\w+)}", route.path)]
    parameters += [_parameter(each, schemas) for each in shape.parameters]
    if parameters:
        found["parameters"] = parameters
    if shape.body is not None:
        found["requestBody"] = _body(shape, schemas)
    found["responses"] = _responses(route, shape, schemas)
    return found


def _security(route: Route, shape: Shape) -> list[dict[str, list[str]]]:
    schemes = (name for persona in sorted(route.who) for name in _SCHEMES_OF.get(persona, ()))
    names = list(dict.fromkeys(schemes))
    if names and route.method == "GET" and shape.answer is bytes:
        names.append("urlAuth")
    return [{name: []} for name in names]


def _path_parameter(name: str) -> dict[str, Any]:
    schema = {"type": "string", "format": "uuid"} if name.endswith("_id") else {"type": "string"}
    if name == "validation_id":
        schema = {"type": "string"}
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _parameter(parameter: Parameter, schemas: _Schemas) -> dict[str, Any]:
    schema = schemas.of(parameter.type)
    found: dict[str, Any] = {"name": parameter.name, "in": parameter.place, "schema": schema}
    if parameter.about:
        found["description"] = parameter.about
    if parameter.required:
        found["required"] = True
    if schema.get("type") == "array":
        found.update(style="form", explode=False)
    return found


def _body(shape: Shape, schemas: _Schemas) -> dict[str, Any]:
    if shape.body is bytes:
        upload = {"type": "object", "properties": {"upfile": {"type": "string", "format": "binary"}}}
        return {"content": {FORM: {"schema": upload}}, "required": shape.body_required}
    return {"content": {JSON: {"schema": schemas.of(shape.body)}}, "required": shape.body_required}


def _responses(route: Route, shape: Shape, schemas: _Schemas) -> dict[str, Any]:
    found: dict[str, Any] = {str(route.ok_status): _success(shape, schemas)}
    found.update({str(status): {"description": about} for status, about in shape.statuses.items()})
    if route.method == "GET":
        found["304"] = {"description": "It is still what the caller has, by the tag in If-None-Match."}
    errors = {"400": "BadRequest"} if shape.parameters or shape.body is not None or "{" in route.path else {}
    if Persona.ANYONE not in route.who:
        errors.update({"401": "Unauthorized", "403": "Forbidden"})
    elif shape.body is not None:
        errors["401"] = "Unauthorized"
    if "{" in route.path:
        errors["404"] = "NotFound"
    if route.method != "GET":
        errors["409"] = "Conflict"
    errors["default"] = "Failure"
    found.update({code: {"$ref": f"#/components/responses/{name}"} for code, name in errors.items()})
    return found


def _success(shape: Shape, schemas: _Schemas) -> dict[str, Any]:
    if shape.answer is None:
        return {"description": "Done."}
    if shape.answer is bytes:
        content: dict[str, Any] = {OCTETS: {"schema": {"type": "string", "format": "binary"}}}
    else:
        content = {shape.media_type: {"schema": schemas.of(shape.answer)}}
    found: dict[str, Any] = {"description": "What was asked for.", "content": content}
    if shape.headers:
        found["headers"] = {
            name: {"description": about, "schema": {"type": "integer"}}
            for name, about in shape.headers.items()
        }
    return found


def _error(name: str, schemas: _Schemas) -> dict[str, Any]:
    about, kinds = _ERRORS[name]
    bodies = [schemas.of(kind) for kind in kinds]
    schema = bodies[0] if len(bodies) == 1 else {"anyOf": bodies}
    return {"description": about, "content": {JSON: {"schema": schema}}}
