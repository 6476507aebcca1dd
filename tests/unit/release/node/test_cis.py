# SPDX-License-Identifier: Apache-2.0
"""docs/reference/cis.toml, and so the page that is made of it, says what the files of nodes say."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.model.ignition import Config, tree_of
from muster.release.node.payload import plan_cluster
from tests.clusters import CLUSTERS, RELEASE, authorities
from tests.seeds import seeded

DATA = tomllib.loads(Path(__file__).parents[4].joinpath("docs/reference/cis.toml").read_text("utf-8"))
ITEMS: dict[str, dict[str, Any]] = {
    item["id"]: item for section in DATA["section"] for item in section["item"]
}
COUNTS = {
    "1.1": 21,
    "1.2": 30,
    "1.3": 7,
    "1.4": 2,
    "2": 7,
    "3.1": 3,
    "3.2": 2,
    "4.1": 10,
    "4.2": 14,
    "4.3": 1,
}
"""How many items the sections of the benchmark have."""
MISSING = object()


@cache
def nodes() -> tuple[Config, ...]:
    """The nodes of every cluster, by every tuning profile."""
    return tuple(
        config
        for cluster in CLUSTERS.values()
        for profile in ("default", "emulated")
        for config in plan_cluster(
            RELEASE, replace(cluster, tuning=profile), authorities(), seeded("hosts")
        ).values()
    )


def found(check: Mapping[str, Any]) -> list[Any]:
    """What every node has that the subject of a check names."""
    (kind, where), (how, _) = check.items()
    name, _, rest = where.partition(" ")
    if kind in ("flag", "line"):
        units = [unit.contents for node in nodes() for unit in node.units if unit.name == f"{name}.service"]
        return [flag_of(text, rest) if kind == "flag" else text.splitlines() for text in units]
    if kind == "field":
        texts = [file.data for node in nodes() for file in node.files if file.path == name]
        return [field_of(yaml.safe_load(text), rest) for text in texts]
    entries = [
        entry
        for node in nodes()
        for entry in tree_of(node)["storage"]["files"]
        if fnmatch(entry["path"], where)
    ]
    return [entry["user"]["name"] if how == "owner" else entry["mode"] for entry in entries]


def flag_of(text: str, flag: str) -> object:
    match = re.search(rf"^ +{flag}=(\S+)", text, re.MULTILINE)
    return match[1] if match else MISSING


def field_of(body: Any, path: str) -> object:
    for part in path.split("."):
        if isinstance(body, list):
            body = body[int(part)]
        elif part in body:
            body = body[part]
        else:
            return MISSING
    return body


def listed(value: Any) -> list[Any]:
    return value.split(",") if isinstance(value, str) else value


def holds(check: Mapping[str, Any], value: Any) -> bool:
    (kind, _), (how, wanted) = check.items()
    if kind == "line":
        return any(line == wanted if how == "is" else wanted in line for line in value)
    if value is MISSING or how == "absent":
        return value is MISSING and how == "absent"
    judges: dict[str, Callable[[], bool]] = {
        "is": lambda: bool(value == wanted) and type(value) is type(wanted),
        "has": lambda: wanted in listed(value),
        "lacks": lambda: wanted not in listed(value),
        "only": lambda: all(each in wanted for each in listed(value)),
        "mode": lambda: value & ~int(wanted, 8) == 0,
        "owner": lambda: bool(value == wanted),
    }
    return judges[how]()


CHECKS = [(id, check) for id, item in ITEMS.items() for check in item.get("checks", ())]


@pytest.mark.parametrize(
    ("id", "check"), CHECKS, ids=[f"{id}-{number}" for number, (id, _) in enumerate(CHECKS)]
)
def test_nodes_have_what_the_table_says(id: str, check: dict[str, Any]) -> None:
    values = found(check)
    if "file" in check and "absent" in check:
        assert values == []
        return
    assert values, f"{id}: no node has {check}"
    assert [value for value in values if not holds(check, value)] == []


def test_every_item_is_there_once() -> None:
    ids = [item["id"] for section in DATA["section"] for item in section["item"]]
    assert ids == [
        f"{section}.{number}" for section, count in COUNTS.items() for number in range(1, count + 1)
    ]


@pytest.mark.parametrize("id", ITEMS)
def test_a_status_has_its_reason(id: str) -> None:
    item = ITEMS[id]
    assert item["status"] in ("met", "not met", "not applicable")
    assert item.get("checks") if item["status"] == "met" else item["why"]


@pytest.mark.parametrize(
    ("check", "value"),
    [
        ({"flag": "a --b", "is": "false"}, "true"),
        ({"flag": "a --b", "is": "false"}, MISSING),
        ({"field": "a b", "is": False}, 0),
        ({"file": "a", "mode": "0600"}, 0o644),
        ({"flag": "a --b", "only": ["strong"]}, "strong,weak"),
        ({"flag": "a --b", "absent": True}, "there"),
    ],
)
def test_a_check_can_fail(check: dict[str, Any], value: object) -> None:
    assert not holds(check, value)
