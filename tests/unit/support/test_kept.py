# SPDX-License-Identifier: Apache-2.0
"""What hosts keep of each other is taken only for what it is."""

from __future__ import annotations

from base64 import b64encode

import pytest

from muster.model.ignition import Config, File, render_tree, tree_of
from muster.support.kept import name_of, parse_config, parse_kept

TREE = tree_of(Config((File("/etc/hostname", b"master-1\n"),)))
DATA = render_tree(TREE)


def line(name: str, data: bytes) -> str:
    return f"{name}.ign {b64encode(data).decode()}\n"


def test_configs_come_by_the_names_of_their_hosts() -> None:
    other = render_tree(tree_of(Config((File("/etc/hostname", b"b.example.com\n"),))))
    found = parse_kept(f"Welcome!\n{line('master-1', DATA)}{line('b.example.com', other)}")
    assert list(found) == ["master-1", "b.example.com"]
    assert found["master-1"] == TREE


@pytest.mark.parametrize(
    "text",
    [
        "",
        "*.ign \n",
        line("master-2", DATA),
        line("master-1", b"no JSON"),
        line("master-1", DATA[:-9]),
        line("../master-1", DATA),
        "master-1.ign ====A\n",
    ],
)
def test_what_is_not_the_config_of_its_host_is_left_out(text: str) -> None:
    assert parse_kept(text) == {}


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"ignition": 3}', b'{"ignition": {"version": 3}}'])
def test_other_files_are_no_configs(data: bytes) -> None:
    assert parse_config(data) is None


def test_a_config_without_a_name_has_none() -> None:
    assert name_of(tree_of(Config())) == ""
