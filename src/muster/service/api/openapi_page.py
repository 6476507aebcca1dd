# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI document as a page of the reference: operations by group, then every object with its fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

Node: TypeAlias = Mapping[str, Any]

_INTRO: Final = """\
# The interface of the service

`GET /openapi.json` has the same as an OpenAPI 3.1 document. Bodies are JSON unless something else is said,
times are RFC 3339 in UTC, and a field without a value is left out. Doubled and trailing slashes of a path do
not count. Lists in a query are separated by commas. Some fields are strings that hold JSON: existing clients
read them so.

Whoever sends `If-None-Match` with the `ETag` of an answer is answered 304 if nothing changed. Errors are an
[Error](#error); those about who is calling (401, and 403 unless the state forbids it) are an
[InfraError](#infraerror).
"""


def render_api(document: Node) -> str:
    """The page, in Markdown."""
    return "\n".join(
        (
            _INTRO,
            *_callers(document),
            *_operations(document),
            *_objects(document["components"]["schemas"]),
            "",
        )
    )


def _callers(document: Node) -> Iterator[str]:
    yield "## Who is calling"
    yield ""
    yield "| scheme | where | who |"
    yield "|---|---|---|"
    for name, scheme in document["components"]["securitySchemes"].items():
        place = "header" if scheme["in"] == "header" else "query"
        yield f"| {name} | {place} `{scheme['name']}` | {scheme['description']} |"


def _operations(document: Node) -> Iterator[str]:
    for tag in document["tags"]:
        yield from ("", f"## {tag['name'].capitalize()}", "", tag["description"])
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                if tag["name"] in operation["tags"]:
                    yield from _operation(f"{method.upper()} {path}", operation)


def _operation(call: str, operation: Node) -> Iterator[str]:
    yield from ("", f"### {call}", "", f"{_text(operation['summary'])} (`{operation['operationId']}`)", "")
    yield f"- who: {', '.join(operation['x-personas'])}"
    for parameter in operation.get("parameters", ()):
        if parameter["in"] != "path":
            yield f"- {_parameter(parameter)}"
    if "requestBody" in operation:
        yield f"- body: {_content(operation['requestBody'])}"
    answers = [(code, each) for code, each in operation["responses"].items() if code.startswith("2")]
    for code, answer in answers:
        yield f"- {code}: {_content(answer) or _text(answer['description'])}"
        for name, header in answer.get("headers", {}).items():
            yield f"  - `{name}`: {header['description']}"
    refused = [code for code in operation["responses"] if code.startswith("4")]
    if refused:
        yield f"- refused with: {', '.join(refused)}"


def _parameter(parameter: Node) -> str:
    needed = ", **required**" if parameter.get("required") else ""
    about = f": {parameter['description']}" if "description" in parameter else ""
    return f"{parameter['in']} `{parameter['name']}` ({_type(parameter['schema'])}{needed}){about}"


def _content(holder: Node) -> str:
    for media_type, body in holder.get("content", {}).items():
        words = _type(body["schema"])
        return words if media_type == "application/json" else f"{words} (`{media_type}`)"
    return ""


def _objects(schemas: Node) -> Iterator[str]:
    yield from ("", "## Objects")
    for name, schema in schemas.items():
        yield from ("", f"### {name}", "", _text(schema.get("description", "")), "")
        yield from ("| field | type | meaning |", "|---|---|---|")
        needed = frozenset(schema.get("required", ()))
        for field, each in schema.get("properties", {}).items():
            words = ["**Required.**"] if field in needed else []
            words += [_text(text) for text in _descriptions(each)]
            yield f"| `{field}` | {_type(each)} | {' '.join(words)} |"


def _descriptions(schema: Node) -> Iterator[str]:
    """What is said of a field, wherever in its type it is said."""
    if "description" in schema:
        yield schema["description"]
    for each in schema.get("anyOf", ()):
        yield from _descriptions(each)


def _type(schema: Node) -> str:
    """The type of something, in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"] if each.get("type") != "null")
    if "enum" in schema:
        return ", ".join(f"`{each}`" if each else "empty" for each in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return _plain(schema)


def _plain(schema: Node) -> str:
    kind, inner = schema.get("type", "anything"), schema.get("additionalProperties")
    if kind == "object":
        return f"map of text to {_type(inner)}" if isinstance(inner, Mapping) and inner else "object"
    if kind == "string":
        kind = {"date-time": "time", "uuid": "UUID", "binary": "file"}.get(schema.get("format", ""), "text")
    bounds = [f"{word} {schema[key]}" for key, word in _BOUNDS.items() if key in schema]
    return f"{kind}, {', '.join(bounds)}" if bounds else str(kind)


_BOUNDS: Final = {
    "minimum": "from",
    "maximum": "to",
    "minLength": "at least",
    "maxLength": "at most",
}


def _text(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace(">", "&gt;").replace("\n", " ")
