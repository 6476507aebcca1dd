# SPDX-License-Identifier: Apache-2.0
"""What the client package of the interface knows of objects and operations, read from its own code."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

# The package has no types.
from assisted_service_client import ApiClient, api, models  # type: ignore[import-untyped]

__all__ = ["ApiClient", "ClientField", "client_models", "client_operations", "fields_of", "words_of"]

_APIS: Final = (
    *("InstallerApi", "EventsApi", "ManifestsApi", "OperatorsApi", "VersionsApi", "ManagedDomainsApi"),
)


@dataclass(frozen=True)
class ClientField:
    """A field of an object, as the client has it."""

    type: str
    words: frozenset[str] | None
    """The only values that it takes."""
    required: bool


@dataclass(frozen=True)
class ClientOperation:
    """An operation, as the client calls it."""

    name: str
    method: str
    path: str
    query: frozenset[str]
    headers: frozenset[str]
    required: frozenset[str]
    """Parameters of the query that have to be there."""
    body: str
    answer: str


@cache
def client_models() -> dict[str, Any]:
    """Every object by its name."""
    return {name: each for name, each in vars(models).items() if inspect.isclass(each)}


def words_of(model: Any) -> frozenset[str]:
    """The words of an enum; nothing if it is none."""
    return frozenset(
        value for name, value in vars(model).items() if name.isupper() and isinstance(value, str)
    )


def fields_of(model: Any) -> dict[str, ClientField]:
    """The fields of an object by their name on the wire."""
    found = {}
    for attribute, kind in model.swagger_types.items():
        setter = inspect.getsource(getattr(model, attribute).fset)
        words = re.search(r"allowed_values = \[(.*?)\]", setter)
        found[model.attribute_map[attribute]] = ClientField(
            kind,
            frozenset(re.findall(r'"([^"]*)"', words[1])) if words else None,
            "must not be `None`" in setter,
        )
    return found


def client_operations() -> dict[tuple[str, str], ClientOperation]:
    """Every operation by method and path."""
    found = {}
    for name in _APIS:
        for function, each in inspect.getmembers(getattr(api, name), inspect.isfunction):
            if function.endswith("_with_http_info"):
                operation = _operation(function.removesuffix("_with_http_info"), inspect.getsource(each))
                found[operation.method, operation.path] = operation
    return found


def _operation(name: str, code: str) -> ClientOperation:
    call = re.search(r"call_api\(\s*'([^']+)', '(\w+)'", code)
    assert call is not None
    body = re.search(r"body_params = params\['(\w+)'\]", code)
    kind = re.search(rf":param (\S+) {body[1]}:", code) if body else None
    answer = re.search(r"response_type='([^']*)'", code)
    query = frozenset(re.findall(r"query_params\.append\(\('([^']+)'", code))
    needed = set(re.findall(r"Missing the required parameter `(\w+)`", code))
    return ClientOperation(
        name,
        call[2],
        call[1],
        query,
        frozenset(re.findall(r"header_params\['([^']+)'\] = params", code)),
        frozenset(each for each in query if each.replace("-", "_") in needed),
        kind[1] if kind else "",
        answer[1] if answer else "",
    )
