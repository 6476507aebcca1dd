# SPDX-License-Identifier: Apache-2.0
"""What is read from a kubeconfig, and from the API's list of nodes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from muster.certificates.kubeconfig import Access, render_kubeconfig
from muster.client.kubeconfig import load_access, parse_access
from muster.client.kubernetes import parse_nodes
from muster.client.snapshot import Node, missing_nodes
from muster.errors import ExternalError, UserError

ACCESS = Access(
    cluster="0042",
    server="https://api.alpha.example.com:6443",
    bundle="the authorities",
    user="admin",
    certificate="a certificate",
    key="a key",
)
TEXT = render_kubeconfig(ACCESS)


def test_what_we_write_is_read_again() -> None:
    assert parse_access(TEXT.encode()) == ACCESS


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "a: [",
        "\x00",
        TEXT.replace("current-context: ", "current-context: other-"),
        TEXT.replace("    user: ", "    user: other-"),
        TEXT.replace("client-key-data", "token"),
        TEXT.replace("https://", "http://"),
        TEXT.replace("client-key-data: ", "client-key-data: !"),
    ],
)
def test_one_that_cannot_be_used_has_a_way_out(text: str, tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(text)
    with pytest.raises(UserError, match="cannot be used") as caught:
        load_access(path)
    assert "agent create image" in caught.value.hint


def test_one_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ExternalError, match="cannot read"):
        load_access(tmp_path)


def node(name: str, **conditions: str) -> dict[str, Any]:
    listed = [{"type": type, "status": status, "reason": "x"} for type, status in conditions.items()]
    return {"metadata": {"name": name, "labels": {}}, "status": {"conditions": listed}}


def test_a_node_is_ready_when_it_says_so() -> None:
    items = [
        node("a", MemoryPressure="False", Ready="True"),
        node("b", Ready="Unknown"),
        node("c", MemoryPressure="True"),
        {"metadata": {"name": "d"}},
    ]
    body = json.dumps({"kind": "NodeList", "items": items}).encode()
    assert parse_nodes(body) == (Node("a", True), Node("b", False), Node("c", False), Node("d", False))


def test_a_node_may_have_its_whole_name() -> None:
    nodes = [Node("m-0.alpha.example.com", True), Node("m-1", True), Node("m-2", False)]
    assert missing_nodes(nodes, ["m-0", "m-1", "m-2", "m-3"]) == ("m-2", "m-3")
