# SPDX-License-Identifier: Apache-2.0
"""How a file's fields are described: once, and everything else follows.

A model is a frozen dataclass whose fields are made by `value`, `many` and `table`. Reading
(`muster.config.document.bind`), ``muster explain``, ``muster schema`` and the reference docs all derive from
these descriptions. A model mirrors its file: an optional field that was not written is None, and
what follows from that is decided later, with its reason, when the site is resolved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import FrozenInstanceError
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar, dataclass_transform

from muster.frozen import dataclass
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


@dataclass(frozen=True)
class Description:
    """What stands in a model's class in place of a field, until an object has a value for it."""

    default: Any
    words: Mapping[str, Any]


def value(kind: Kind[T], doc: str, **more: Any) -> T | None:
    """A field that holds one value."""
    field: T | None = _describe(None, kind=kind, doc=doc, **more)
    return field


def many(kind: Kind[T], doc: str, **more: Any) -> Items[T]:
    """A field that holds a list; absent is the same as empty."""
    field: Items[T] = _describe(Items(), kind=kind, doc=doc, many=True, **more)
    return field


def table(kind: Kind[T], doc: str, **more: Any) -> Mapping[str, T]:
    """A field that maps names of the user's choice to values; absent is the same as empty."""
    field: Mapping[str, T] = _describe({}, kind=kind, doc=doc, table=True, **more)
    return field


def _describe(default: Any, /, **words: Any) -> Any:
    return Description(default, words)


@dataclass_transform(kw_only_default=True, frozen_default=True)
class _Frozen:
    """Classes below this one are frozen dataclasses to type checkers."""


class Model(_Frozen):
    """Base of all models: data that knows where it was written. Places do not count as data.

    They are not dataclasses of the standard library, which writes and compiles the methods of each class at
    every start: for more than a hundred models that took longer than a check.
    """

    open: ClassVar[bool] = False
    """Whether keys that the model does not describe are let pass (another parser checks them)."""
    alone: ClassVar[tuple[str, str]] = ("", "")
    """The field that a single value in place of the mapping means, and what that has to look like."""

    node: Node = NOWHERE
    places: Mapping[str, Node] = {}

    def __init__(self, **values: Any) -> None:
        defaults = _defaults_of(type(self))
        if not values.keys() <= defaults.keys():
            unknown = ", ".join(sorted(values.keys() - defaults.keys()))
            raise TypeError(f"{type(self).__name__} has no field {unknown}")
        self.__dict__.update(defaults)
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._data() == other._data()

    def __hash__(self) -> int:
        return hash((type(self), *self._data().values()))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self._data().items())
        return f"{type(self).__name__}({shown})"

    def _data(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("node", "places")}

    def but(self, **changes: Any) -> Self:
        """The same, with other values in some fields."""
        return type(self)(**{**self.__dict__, **changes})

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
_DEFAULTS: dict[type[Model], Mapping[str, Any]] = {}


def fields_of(model: type[Model]) -> Mapping[str, Field]:
    """The fields of a model by the key they have in the file."""
    if model not in _FIELDS:
        _FIELDS[model] = dict(_described(model))
    return _FIELDS[model]


def _described(model: type[Model]) -> Iterator[tuple[str, Field]]:
    for name, description in _descriptions(model).items():
        words = dict(description.words)
        key = words.pop("key", None) or camel_case(name)
        yield key, Field(name=name, key=key, **words)


def _descriptions(model: type[Model]) -> dict[str, Description]:
    """In the order of their definition, those of base classes first."""
    classes = reversed(model.__mro__)
    found = (item for each in classes for item in vars(each).items())
    return {name: each for name, each in found if isinstance(each, Description)}


def _defaults_of(model: type[Model]) -> Mapping[str, Any]:
    if model not in _DEFAULTS:
        fields = {name: each.default for name, each in _descriptions(model).items()}
        _DEFAULTS[model] = {"node": NOWHERE, "places": {}, **fields}
    return _DEFAULTS[model]


def camel_case(name: str) -> str:
    """``base_domain`` → ``baseDomain``."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)
