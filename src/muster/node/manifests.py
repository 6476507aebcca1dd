# SPDX-License-Identifier: Apache-2.0
"""YAML → the objects in it, each as the Kubernetes API takes it; and what is none.

Values are read as kubectl reads them: a date is a text, and so is 22:80, which PyYAML takes for a number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterator, Mapping
from typing import Any, Final

import msgspec
import yaml
from yaml.constructor import ConstructorError

from muster.frozen import dataclass
from muster.model.bounded_yaml import UNREADABLE, iter_documents

_TAG: Final = "tag:yaml.org,2002:"
_INT: Final = re.compile(r"[-+]?(?:0b[01_]+|0o?[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+)\Z")
_FLOAT: Final = re.compile(
    r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z"
)
_QUOTED: Final = re.compile(r"(['\"]).*\1")


@dataclass(frozen=True)
class Manifest:
    """One object."""

    api_version: str
    kind: str
    name: str
    namespace: str
    body: bytes
    """All of it, as JSON."""

    @property
    def title(self) -> str:
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True)
class Fault:
    """Something that is no object: nobody will take it, however long one waits."""

    words: str


class _Loader(yaml.CSafeLoader):
    """Scalars as Go's libraries read them, and keys that are texts, as JSON has no others."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        self.flatten_mapping(node)
        return {
            self._construct_key(key): self.construct_object(value, deep=deep) for key, value in node.value
        }

    def _construct_key(self, node: yaml.Node) -> str:
        key = self.construct_object(node, deep=True)
        if not isinstance(key, Hashable):
            raise ConstructorError(None, None, "a key that is no single value", node.start_mark)
        return key if isinstance(key, str) else msgspec.json.encode(key).decode()

    def construct_number(self, node: yaml.ScalarNode) -> float:
        number: float = self.construct_yaml_float(node)
        if not math.isfinite(number):
            raise ConstructorError(None, None, "a number that JSON cannot have", node.start_mark)
        return number


_Loader.yaml_implicit_resolvers = {
    first: [pair for pair in pairs if pair[0] not in (f"{_TAG}timestamp", f"{_TAG}int", f"{_TAG}float")]
    for first, pairs in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(f"{_TAG}int", _INT, list("-+0123456789"))
_Loader.add_implicit_resolver(f"{_TAG}float", _FLOAT, list("-+.0123456789"))
_Loader.add_constructor(f"{_TAG}float", _Loader.construct_number)


def parse_manifests(text: bytes) -> Iterator[Manifest | Fault]:
    """The objects of a file in their order; what comes after a place that is no YAML is not found."""
    try:
        for number, document in enumerate(_documents(text), start=1):
            if document is not None:
                yield from _objects(document, f"document {number}")
    except UNREADABLE as error:
        yield Fault(_words_of(error))


def _documents(text: bytes) -> Iterator[object]:
    if text.lstrip().startswith(b"{"):
        try:
            # JSON is YAML, but libyaml does not read all of it.
            yield msgspec.json.decode(text)
        except msgspec.DecodeError:
            pass
        else:
            return
    yield from iter_documents(text, _Loader)


def _objects(body: object, where: str) -> Iterator[Manifest | Fault]:
    """A list is as good as what is in it."""
    if not isinstance(body, dict) or not _is_text(body.get("apiVersion")) or not _is_text(body.get("kind")):
        yield Fault(f"{where} is no object with apiVersion and kind")
        return
    version, kind, items = body["apiVersion"], body["kind"], body.get("items")
    if kind == "List" or (kind.endswith("List") and isinstance(items, list)):
        # Items of a ConfigMapList need not say what they are.
        own = {} if kind == "List" else {"apiVersion": version, "kind": kind.removesuffix("List")}
        for number, each in enumerate(items if isinstance(items, list) else (), start=1):
            yield from _objects(
                {**own, **each} if isinstance(each, dict) else each, f"{where}, item {number}"
            )
        return
    yield _object(body)


def _object(body: Mapping[str, Any]) -> Manifest | Fault:
    kind, metadata = body["kind"], body.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    namespace = (metadata.get("namespace") or "") if isinstance(metadata, dict) else ""
    if not isinstance(name, str) or not name:
        return Fault(
            f"{kind} has no metadata.name; one that the cluster makes up (generateName) is not taken"
        )
    if not _is_segment(name) or (namespace and not _is_segment(namespace)):
        return Fault(f"{kind} has a name or namespace that no object can have")
    try:
        return Manifest(body["apiVersion"], kind, name, namespace, msgspec.json.encode(body))
    except (TypeError, ValueError, RecursionError):
        return Fault(f"{kind} has values that JSON cannot have")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_segment(value: object) -> bool:
    """Whether it can be a part of a path."""
    return isinstance(value, str) and value not in (".", "..") and not re.search(r"[/%]", value)


def _words_of(error: BaseException) -> str:
    """Where it cannot be read, and why; without what it quotes, which may be a secret."""
    mark = getattr(error, "problem_mark", None)
    why = _QUOTED.sub("…", getattr(error, "problem", None) or "")
    place = f" in line {mark.line + 1}" if mark is not None else ""
    return f"it is no YAML{place}" + (f": {why}" if why else "")
