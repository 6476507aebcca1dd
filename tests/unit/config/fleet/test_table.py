# SPDX-License-Identifier: Apache-2.0
"""Tables of sites, and the places that their columns name."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.config.fleet.fault import RowError
from muster.config.fleet.paths import find_path, look_up
from muster.config.fleet.table import canonical, load_table, parse_csv
from muster.config.report import excerpt
from muster.errors import ExternalError, UserError
from muster.model.problem import Place
from muster.model.tree import Map, Node, Scalar


def texts(cells: dict[str, Node]) -> dict[str, str]:
    return {column: node.text for column, node in cells.items() if isinstance(node, Scalar)}


def test_cells_know_their_place() -> None:
    table = parse_csv("sites.csv", 'name,mac\n\n# a comment\nsite1, "a ""b"", c" \n')
    assert (len(table), table.line(0)) == (1, 4)
    cells = table.cells(0)
    assert texts(cells) == {"name": "site1", "mac": 'a "b", c'}
    assert str(Place.of(cells["mac"])) == "sites.csv:4:9"
    assert excerpt(Place.of(cells["name"])) == ['    4 | site1, "a ""b"", c" ', "      | ^^^^^"]


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_separators(mark: str) -> None:
    table = parse_csv("t", f"a{mark}b\r\n1{mark}2\r\n{mark}3\r\n")
    assert [texts(table.cells(index)) for index in range(2)] == [{"a": "1", "b": "2"}, {"b": "3"}]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a,b", "2 cells, the header has 3"),
        ("a,b,c,d", "4 cells"),
        ('a,"b,c', "not closed"),
        (",,,", "4 cells"),
    ],
)
def test_rows_that_cannot_be_used(line: str, said: str) -> None:
    table = parse_csv("t", f"x,y,z\n1,2,3\n{line}\n4,5,6\n")
    assert len(table) == 3
    with pytest.raises(RowError, match=said):
        table.cells(1)
    assert texts(table.cells(2)) == {"x": "4", "y": "5", "z": "6"}


def test_columns_twice_and_without_a_name() -> None:
    faults = parse_csv("t", "a,a,,b\n").faults
    assert [fault.message for fault in faults] == ["the column a is there twice"]
    assert parse_csv("t", "a,,\n").faults[0].message == "a column has no name"


def test_what_is_hidden_does_not_show() -> None:
    table = parse_csv("t", "name,install-config.pullSecret\nsite1,hunter2\n")
    table.hide({"install-config.pullSecret"})
    shown = "".join(excerpt(Place.of(table.cells(0)["name"])))
    assert "hunter2" not in shown
    assert "site1" in shown


def test_a_table_in_yaml(tmp_path: Path) -> None:
    path = tmp_path / "sites.yaml"
    path.write_text(
        "sites:\n"
        "- name: a\n"
        "  install-config:\n"
        "    networking:\n"
        "      machineNetwork: [{cidr: 10.0.0.0/24}]\n"
        "    metadata: {labels: {a.b: c}}\n"
        "- just a text\n"
        "- {name: b, empty: }\n"
    )
    table = load_table(path)
    assert table.columns == (
        "name",
        "install-config.networking.machineNetwork",
        'install-config.metadata.labels["a.b"]',
    )
    assert [table.line(index) for index in range(2)] == [2, 8]
    assert list(table.cells(1)) == ["name"]
    assert [fault.where for fault in table.faults] == [f"{path}:7"]
    assert canonical(table.cells(0)) != canonical(table.cells(1))


def test_what_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(ExternalError):
        load_table(tmp_path / "absent.csv")
    for name, text, said in (
        ("a.csv", b"", "is empty"),
        ("b.csv", b"a,b\n\xff", "b.csv:2: the byte 0xff is not UTF-8"),
        ("c.yaml", b"a: b\n", "not a list of sites"),
        ("d.yaml", b"- a: [\n", "d.yaml:"),
    ):
        (tmp_path / name).write_bytes(text)
        with pytest.raises(UserError, match=said):
            load_table(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("install-config.metadata.name", ("metadata", "name")),
        (
            "image-based-config.networkConfig.interfaces[0].mac-address",
            ("networkConfig", "interfaces", 0, "mac-address"),
        ),
        ('image-based-config.nodeLabels["a.b/c"]', ("nodeLabels", "a.b/c")),
    ],
)
def test_paths(text: str, steps: tuple[str | int, ...]) -> None:
    path = find_path(text)
    assert path is not None
    assert path.steps == steps
    assert str(path) == text
    assert look_up(path).fault == ""


@pytest.mark.parametrize(
    "text", ["name", "install-config", "install-config.", "install-config.a[x]", "agent-config.hosts"]
)
def test_what_is_no_path(text: str) -> None:
    assert find_path(text) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("install-config.metdata.name", "did you mean metadata?"),
        ("install-config.baseDomain.x", "single value"),
        ("install-config.compute.replicas", "compute is a list"),
        ("install-config.networking.machineNetwork[0].cdir", "did you mean cidr?"),
    ],
)
def test_fields_that_do_not_exist(text: str, said: str) -> None:
    path = find_path(text)
    assert path is not None
    assert said in look_up(path).fault


def test_secrets_are_known() -> None:
    path = find_path("install-config.pullSecret")
    assert path is not None
    assert look_up(path).secret


def test_nested_values_stay_whole(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text("- image-based-config.networkConfig: {interfaces: []}\n")
    node = load_table(path).cells(0)["image-based-config.networkConfig"]
    assert isinstance(node, Map)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("true", '"true"'),
        ("{a: 1}", "{a: '1'}"),
        ("[a]", "'[\"a\"]'"),
        ("[a, b]", "[[a, b]]"),
        ("1.0", "1.00"),
    ],
)
def test_what_means_something_else_is_a_change(tmp_path: Path, one: str, other: str) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(f"- {{b: {one}, a: x}}\n- {{b: {other}, a: x}}\n- {{a: x, b: {one}}}\n")
    first, second, third = (canonical(load_table(path).cells(index)) for index in range(3))
    assert first != second
    assert first == third
