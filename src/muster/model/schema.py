# SPDX-License-Identifier: Apache-2.0
"""How a file's fields are described: once, and everything else follows.

A model is a frozen dataclass whose fields are made by `value`, `many` and `table`. Reading
(`muster.config.document.bind`), ``muster explain``, ``muster schema`` and the reference docs all derive from
these descriptions. A model mirrors its file: an optional field that was not written is None, and
what follows from that is decided later, with its reason, when the site is resolved.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from muster.model.tree import NOWHERE, Map, Node, Scalar, Sequence, is_null

T = TypeVar("T")


class Complain(Protocol):
    """Reports a broken rule about the value being read.

    ``repaired`` is what the value should say, in the quotes it has; ``unquoted`` the same without any.
    """

    def __call__(
        self, slug: str, /, *, repaired: str | None = None, unquoted: str | None = None, **values: object
    ) -> None: ...


@dataclass(frozen=True)
class Kind(Generic[T]):
    """A type of value: its name for people, and its JSON Schema for editors."""

    name: str
    json: Mapping[str, Any]


@dataclass(frozen=True)
class Leaf(Kind[T]):
    """A value written as one scalar. ``parse`` gives None when it cannot make sense of it."""

    parse: Callable[[Scalar, Complain], T | None]
    secret: bool = False
    """Its text is never shown, logged or quoted."""


@dataclass(frozen=True)
class Object(Kind[T]):
    """A mapping that is itself a model."""

    model: type[Model]


def nested(model: type[M]) -> Kind[M]:
    """The kind of a model."""
    return Object("object", {"type": "object"}, model)


@dataclass(frozen=True)
class Free(Kind[Node]):
    """A part whose keys are not ours to know, kept as it was written."""


class Items(tuple[T, ...], Generic[T]):
    """The values of a list, and where each of them stands. Compares like the tuple that it is."""

    nodes: tuple[Node, ...]

    def __new__(cls, values: tuple[T, ...] = (), nodes: tuple[Node, ...] | None = None) -> Self:
        self = super().__new__(cls, values)
        self.nodes = nodes if nodes is not None else (NOWHERE,) * len(values)
        return self

    def located(self) -> Iterator[tuple[T, Node]]:
        """Each value with its place."""
        return zip(self, self.nodes, strict=True)


@dataclass(frozen=True)
class Field:
    """What is known about one field of a file."""

    name: str
    key: str
    kind: Kind[Any]
    doc: str
    many: bool = False
    table: bool = False
    required: bool = False
    default: str = ""
    """What holds when it is absent, in words; the value itself is derived when resolving."""
    example: str = ""
    replaced_by: str = ""
    """Deprecated: the key to use instead."""
    ignored: str = ""
    """Accepted for compatibility but without effect here, and the reason."""
    forbidden: str = ""
    """Known, but not possible here, and the reason."""

    @property
    def secret(self) -> bool:
        return isinstance(self.kind, Leaf) and self.kind.secret


def value(kind: Kind[T], doc: str, **more: Any) -> T | None:
    """A field that holds one value."""
    return dataclasses.field(default=None, metadata={"kind": kind, "doc": doc, **more})


def many(kind: Kind[T], doc: str, **more: Any) -> Items[T]:
    """A field that holds a list; absent is the same as empty."""
    metadata = {"kind": kind, "doc": doc, "many": True, **more}
    return dataclasses.field(default_factory=Items, metadata=metadata)


def table(kind: Kind[T], doc: str, **more: Any) -> Mapping[str, T]:
    """A field that maps names of the user's choice to values; absent is the same as empty."""
    metadata = {"kind": kind, "doc": doc, "table": True, **more}
    return dataclasses.field(default_factory=dict, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class Model:
    """Base of all models: data that knows where it was written. Places do not count as data."""

    open: ClassVar[bool] = False
    """Whether keys that the model does not describe are let pass (another parser checks them)."""

    alone: ClassVar[tuple[str, str]] = ("", "")
    """The field that a single value in place of the mapping means, and what that has to look like."""

    node: Node = field(default=NOWHERE, compare=False, repr=False)
    places: Mapping[str, Node] = field(default_factory=dict, compare=False, repr=False)

    def at(self, name: str) -> Node:
        """Where a field of this object was written, or the object itself when it was not."""
        return self.places.get(name, self.node)

    def has(self, name: str) -> bool:
        """Whether a field was written, even if with a value that could not be read."""
        return name in self.places

    def is_unread(self, name: str) -> bool:
        """Whether a field says something that could not be read, or only in part."""
        node, found = self.places.get(name), getattr(self, name)
        if is_null(node):
            return False
        if isinstance(found, Items):
            written = node.items if isinstance(node, Sequence) else None
        elif isinstance(found, dict):
            written = list(node.items.values()) if isinstance(node, Map) else None
        else:
            return found is None
        return written is None or len(found) < sum(not is_null(each) for each in written)


M = TypeVar("M", bound=Model)


_FIELDS: dict[type[Model], Mapping[str, Field]] = {}


def fields_of(model: type[Model]) -> Mapping[str, Field]:
    """The fields of a model by the key they have in the file."""
    if model not in _FIELDS:
        _FIELDS[model] = dict(_described(model))
    return _FIELDS[model]


def _described(model: type[Model]) -> Iterator[tuple[str, Field]]:
    for entry in dataclasses.fields(model):
        if "kind" in entry.metadata:
            words = dict(entry.metadata)
            key = words.pop("key", None) or camel_case(entry.name)
            yield key, Field(name=entry.name, key=key, **words)


def camel_case(name: str) -> str:
    """``base_domain`` → ``baseDomain``."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)
