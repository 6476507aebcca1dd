# SPDX-License-Identifier: Apache-2.0
"""Models → words and JSON Schema: what ``muster explain``, ``muster schema`` and the docs show."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any, Final

from muster.config.kinds import KINDS
from muster.config.spelling import closest
from muster.errors import UserError
from muster.frozen import dataclass
from muster.model.nmstate import NMState
from muster.model.schema import Field, Kind, Leaf, Model, Object, fields_of
from muster.model.values import NMSTATE

_MOST_SHOWN: Final = 12


@dataclass(frozen=True)
class Described:
    """A file, or a field of it."""

    path: str
    file: str
    type_name: str
    doc: str
    entry: Field | None
    model: type[Model] | None
    """The model whose fields stand below it, if it is an object."""


def describe(path: str) -> Described:
    """What is at a dotted path such as ``install-config.platform.baremetal.apiVIPs``.

    The path may begin with a field, if only one path ends so.
    """
    words = re.sub(r"\[.*?\]", "", path.strip().strip(".")).replace(".yaml", "", 1)
    if words.split(".")[0] not in KINDS:
        words = _only_path(words)
    kind, *steps = words.split(".")
    file, model = KINDS[kind]
    found = Described(kind, file, "object", doc_of(model), None, model)
    for step in steps:
        found = _step(found, step)
    return found


def _only_path(end: str) -> str:
    """The path that ends with these words, if there is only one."""
    wanted = end.lower().split(".")
    fields = [f"{kind}.{name}" for kind, (_, model) in KINDS.items() for name, _ in walk_fields(model)]
    found = [path for path in fields if path.lower().split(".")[-len(wanted) :] == wanted]
    if not found:
        names = {path.rpartition(".")[2] for path in fields}
        right = closest(end, KINDS) or closest(end, sorted(names))
        hint = f"did you mean {right}?" if right else f"the kinds of files are: {', '.join(KINDS)}"
        raise UserError(f"there is no file kind and no field {end!r}", hint=hint)
    if len(found) > 1:
        further = f" and {len(found) - _MOST_SHOWN} more" if len(found) > _MOST_SHOWN else ""
        shown = ", ".join(found[:_MOST_SHOWN])
        raise UserError(f"{len(found)} fields are called {end}", hint=f"name one in full: {shown}{further}")
    return found[0]


def _step(parent: Described, step: str) -> Described:
    if parent.model is None:
        raise UserError(f"{parent.path} has no fields", hint=f"try `muster explain {parent.path}`")
    known = fields_of(parent.model)
    key = next((key for key in known if key.lower() == step.lower()), None)
    if key is None:
        raise _unknown(f"{parent.path} has no field {step!r}", step, list(known))
    entry = known[key]
    model = model_of(entry.kind)
    return Described(f"{parent.path}.{key}", parent.file, type_name(entry), entry.doc, entry, model)


def _unknown(message: str, word: str, choices: list[str]) -> UserError:
    right = closest(word, choices)
    hint = f"did you mean {right}?" if right else f"choose one of: {', '.join(choices)}"
    return UserError(message, hint=hint)


def model_of(kind: Kind[Any]) -> type[Model] | None:
    """The model behind a kind, if its values are objects."""
    if isinstance(kind, Object):
        return kind.model
    return NMState if kind is NMSTATE else None


def type_name(entry: Field) -> str:
    """The type of a field, in words."""
    name = entry.kind.name
    if entry.many:
        return f"list of {name}s" if name == "object" else f"list of {name}"
    return f"map of text to {name}" if entry.table else name


def doc_of(model: type[Model]) -> str:
    """The one sentence that says what a model is."""
    return (inspect.getdoc(model) or "").strip()


def notes(entry: Field) -> Iterator[str]:
    """What else there is to know about a field."""
    if entry.replaced_by:
        yield f"Deprecated: use {entry.replaced_by}."
    if entry.ignored:
        yield f"Has no effect: {entry.ignored}."
    if entry.forbidden:
        yield f"Cannot be used: {entry.forbidden}."
    if entry.secret:
        yield "Secret: never shown in messages, logs or plans."


def walk_fields(model: type[Model], path: str = "") -> Iterator[tuple[str, Field]]:
    """Every field below a model with its dotted path; recursion ends at models that were met above."""
    yield from _walk(model, path, ())


def _walk(model: type[Model], path: str, above: tuple[type[Model], ...]) -> Iterator[tuple[str, Field]]:
    for key, entry in fields_of(model).items():
        name = f"{path}.{key}" if path else key
        yield name, entry
        below = model_of(entry.kind)
        if below is not None and below not in above:
            yield from _walk(below, name, (*above, model))


def json_schema(kind: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a kind of file."""
    if kind not in KINDS:
        raise _unknown(f"there is no file kind {kind!r}", kind, list(KINDS))
    file, model = KINDS[kind]
    definitions: dict[str, Any] = {}
    body = _object_schema(model, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": file,
        **body,
        "$defs": dict(sorted(definitions.items())),
    }


def _object_schema(model: type[Model], definitions: dict[str, Any]) -> dict[str, Any]:
    known = fields_of(model)
    required = [key for key, entry in known.items() if entry.required]
    schema: dict[str, Any] = {
        "type": "object",
        "description": doc_of(model),
        "properties": {key: _field_schema(entry, definitions) for key, entry in known.items()},
        "additionalProperties": model.open,
    }
    return {**schema, "required": required} if required else schema


def _field_schema(entry: Field, definitions: dict[str, Any]) -> dict[str, Any]:
    schema = _kind_schema(entry.kind, definitions)
    if entry.many:
        schema = {"type": "array", "items": schema}
    elif entry.table:
        schema = {"type": "object", "additionalProperties": schema}
    words = [entry.doc, f"Default: {entry.default}." if entry.default else "", *notes(entry)]
    schema = {"description": " ".join(word for word in words if word), **schema}
    if entry.example:
        schema["examples"] = [_example(entry)]
    if entry.replaced_by:
        schema["deprecated"] = True
    return schema


def _example(entry: Field) -> Any:
    text = entry.example
    kind = entry.kind.json.get("type")
    one: Any = int(text) if kind == "integer" else text == "true" if kind == "boolean" else text
    return [one] if entry.many else one


def _kind_schema(kind: Kind[Any], definitions: dict[str, Any]) -> dict[str, Any]:
    model = model_of(kind)
    if model is None:
        assert isinstance(kind, Leaf) or not kind.json
        return dict(kind.json)
    name = f"{model.__module__.removeprefix('muster.model.')}.{model.__name__}"
    if name not in definitions:
        definitions[name] = {}
        definitions[name] = _object_schema(model, definitions)
    return {"$ref": f"#/$defs/{name}"}
