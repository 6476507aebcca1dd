# SPDX-License-Identifier: Apache-2.0
"""Frozen dataclasses whose methods are shared, and not written and compiled for each class at every start.

The standard library does the latter: a millisecond for each of more than a hundred classes, a quarter of what
a command takes. These behave the same, `fields` and `replace` included. Making an object costs a little more,
so classes with thousands of objects stay with the standard library.
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, FrozenInstanceError
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, **more):
        """`dataclasses.dataclass`, with shared methods for plain frozen classes."""
        if not frozen or more or cls is not None:
            make = dataclasses.dataclass(frozen=frozen, **more)
            return make if cls is None else make(cls)
        return _share_methods


def _share_methods(cls: type[Any]) -> type[Any]:
    dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
    for method in (_init, _setattr, _delattr, _eq, _hash, _repr):
        name = f"__{method.__name__.strip('_')}__"
        if name not in cls.__dict__:
            setattr(cls, name, method)
    return cls


def _init(self: Any, *args: Any, **values: Any) -> None:
    fields = type(self).__dataclass_fields__
    if len(args) > len(fields):
        raise TypeError(f"{type(self).__name__} takes {len(fields)} values, not {len(args)}")
    given = dict(zip(fields, args, strict=False))
    if not values.keys() <= fields.keys() - given.keys():
        wrong = ", ".join(sorted(values.keys() - (fields.keys() - given.keys())))
        raise TypeError(f"{type(self).__name__} has no field {wrong}, or was given it twice")
    given |= values
    self.__dict__.update(
        {name: given[name] if name in given else _default(self, fields[name]) for name in fields}
    )
    if hasattr(self, "__post_init__"):
        self.__post_init__()


def _default(self: Any, field: dataclasses.Field[Any]) -> Any:
    if field.default is not MISSING:
        return field.default
    if field.default_factory is not MISSING:
        return field.default_factory()
    raise TypeError(f"{type(self).__name__} needs a value for {field.name}")


def _setattr(self: Any, name: str, value: Any) -> None:  # noqa: ARG001
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: Any, name: str) -> None:  # noqa: ARG001
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _compared(self: Any) -> tuple[Any, ...]:
    fields = type(self).__dataclass_fields__
    return tuple(getattr(self, name) for name, field in fields.items() if field.compare)


def _eq(self: Any, other: object) -> bool:
    return _compared(self) == _compared(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_compared(self))


def _repr(self: Any) -> str:
    fields = type(self).__dataclass_fields__
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name, field in fields.items() if field.repr)
    return f"{type(self).__qualname__}({shown})"
