# SPDX-License-Identifier: Apache-2.0
"""Repairs change no more than they must: comments, order, quotes and line ends stay."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import yaml

from muster.config.document import edit
from muster.config.document.bind import Binder
from muster.config.document.parse import parse_yaml
from muster.config.repair import apply_edits
from muster.model.install_config import InstallConfig
from muster.model.networking import Networking
from muster.model.platform.baremetal import BareMetalPlatform
from muster.model.problem import Edit
from muster.model.schema import Model
from muster.model.tree import Map, Node, Scalar, Source, find

Path = tuple[str | int, ...]


def parsed(text: str, *path: str | int) -> Node:
    documents, problems = parse_yaml(Source("file.yaml", text))
    assert not problems
    return find(documents[0], path)


def scalar(text: str, *path: str | int) -> Scalar:
    node = parsed(text, *path)
    assert isinstance(node, Scalar)
    return node


def mapping(text: str, *path: str | int) -> Map:
    node = parsed(text, *path)
    assert isinstance(node, Map)
    return node


def applied(text: str, edits: tuple[Edit, ...]) -> str:
    result = apply_edits(text, edits)
    yaml.safe_load(result)
    return result


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: old # why\n", "a: new # why\n"),
        ("a: 'old'\n", "a: 'new'\n"),
        ('a: "old"   # why\n', 'a: "new"   # why\n'),
        ("a:\nb: 1\n", "a: new\nb: 1\n"),
        ("a:  # why\nb: 1\n", "a: new  # why\nb: 1\n"),
        ("{a: old, b: 1}\n", "{a: new, b: 1}\n"),
        ("x: &x old\na: *x\n", "x: &x old\na: new\n"),
        ("a: &x old\nb: *x\n", "a: &x new\nb: *x\n"),
        ("a: old\r\nb: 1\r\n", "a: new\r\nb: 1\r\n"),
        ("a: |\n  old\n", None),
        ('a: "old\n  text"\n', None),
    ],
)
def test_replace_scalar(text: str, expected: str | None) -> None:
    edits = edit.replace_scalar(scalar(text, "a"), "new")
    assert (applied(text, edits) if edits else None) == expected


def test_quotes_inside_quotes_are_escaped() -> None:
    assert applied("a: 'old'\n", edit.replace_scalar(scalar("a: 'old'\n", "a"), "it's")) == "a: 'it''s'\n"
    text = 'a: "old"\n'
    assert applied(text, edit.replace_scalar(scalar(text, "a"), 'say "x"')) == 'a: "say \\"x\\""\n'


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("old: 1\n", ("old",), "new: 1\n"),
        ("'old': 1 # why\n", ("old",), "'new': 1 # why\n"),
        ("list:\n- old: 1\n  b: 2\n", ("list", 0, "old"), "list:\n- new: 1\n  b: 2\n"),
        ("m: {a: 1, old: 2}\n", ("m", "old"), "m: {a: 1, new: 2}\n"),
        ("old:\n# why\n- a\n", ("old",), "new:\n# why\n- a\n"),
    ],
)
def test_rename_key(text: str, path: Path, expected: str) -> None:
    assert applied(text, edit.rename_key(parsed(text, *path), "new")) == expected


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("a: x\n", ("a",), "a:\n- x\n"),
        ("a:   x   # why\n", ("a",), "a:\n- x   # why\n"),
        ("m:\n  a: 'x'\n  b: 1\n", ("m", "a"), "m:\n  a:\n  - 'x'\n  b: 1\n"),
        ("l:\n- a: x\n  b: 1\n", ("l", 0, "a"), "l:\n- a:\n  - x\n  b: 1\n"),
        ("l:\n  -   a: x\n      b: 1\n", ("l", 0, "a"), "l:\n  -   a:\n      - x\n      b: 1\n"),
        ("m: {a: x, b: 1}\n", ("m", "a"), "m: {a: [x], b: 1}\n"),
        ("m: {\n  a: x,\n  b: 1\n}\n", ("m", "a"), "m: {\n  a: [x],\n  b: 1\n}\n"),
        ("a:\n  x\n", ("a",), "a:\n  [x]\n"),
        ("a: &x x\nb: *x\n", ("a",), "a:\n- &x x\nb: *x\n"),
        ("a: x\r\nb: 1\r\n", ("a",), "a:\r\n- x\r\nb: 1\r\n"),
        ("a: x", ("a",), "a:\n- x"),
        ("a: x\n  y\n", ("a",), None),
    ],
)
def test_wrap_in_list(text: str, path: Path, expected: str | None) -> None:
    edits = edit.wrap_in_list(scalar(text, *path))
    assert (applied(text, edits) if edits else None) == expected


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("a: x # why\n", ("a",), "as:\n- cidr: x # why\n"),
        ("m: {a: x}\n", ("m", "a"), "m: {as: [{cidr: x}]}\n"),
        ("l:\n- a: x\n  b: 1\n", ("l", 0, "a"), "l:\n- as:\n  - cidr: x\n  b: 1\n"),
        ("a: [x]\n", ("a",), None),
        ("a:\n", ("a",), None),
    ],
)
def test_rename_to_list(text: str, path: Path, expected: str | None) -> None:
    edits = edit.rename_to_list(parsed(text, *path), "as", under="cidr")
    assert (applied(text, edits) if edits else None) == expected


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("b: 1\n", (), "a: x\nb: 1\n"),
        ("# first\n---\n# second\nb: 1\n", (), "# first\n---\n# second\na: x\nb: 1\n"),
        ("l:\n- b: 1\n  c: 2\n", ("l", 0), "l:\n- a: x\n  b: 1\n  c: 2\n"),
        ("l:\r\n  - b: 1\r\n", ("l", 0), "l:\r\n  - a: x\r\n    b: 1\r\n"),
        ("m: &m\n  b: 1\n", ("m",), "m: &m\n  a: x\n  b: 1\n"),
        ("m: {b: 1}\n", ("m",), "m: {a: x, b: 1}\n"),
        ("m: {}\n", ("m",), "m: {a: x}\n"),
        ("o: &o {b: 1}\nm: *o\n", ("m",), None),
        ("o: &o {b: 1}\nm:\n  <<: *o\n", ("m",), None),
    ],
)
def test_insert_entry(text: str, path: Path, expected: str | None) -> None:
    edits = edit.insert_entry(mapping(text, *path), "a", "x")
    assert (applied(text, edits) if edits else None) == expected


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("a: 1 # why\nc: 3\n", ("a",), "a: 1 # why\nb: x\nc: 3\n"),
        ("a: 1", ("a",), "a: 1\nb: x"),
        ("l:\n- a: 1\n- a: 2\n", ("l", 0, "a"), "l:\n- a: 1\n  b: x\n- a: 2\n"),
        ("l:\r\n- a: 1\r\n", ("l", 0, "a"), "l:\r\n- a: 1\r\n  b: x\r\n"),
        ("a:\n- 1\n- 2\n\nc: 3\n", ("a",), "a:\n- 1\n- 2\nb: x\n\nc: 3\n"),
        ("m: {a: 1}\n", ("m", "a"), "m: {a: 1, b: x}\n"),
    ],
)
def test_add_entry(text: str, path: Path, expected: str) -> None:
    assert applied(text, edit.add_entry(parsed(text, *path), "b", "x")) == expected


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("a: 1\nb: 2\n", ("a",), "b: 2\n"),
        ("a: 1\nb: 2 # gone\nc: 3\n", ("b",), "a: 1\nc: 3\n"),
        ("a:\n- 1\n- x:\n    y: 2\n\nb: 2\n", ("a",), "\nb: 2\n"),
        ("a: |\n  text\n\n  more\nb: 2\n", ("a",), "b: 2\n"),
        ("l:\n- a: 1\n  b: 2\n", ("l", 0, "a"), "l:\n- b: 2\n"),
        ("l:\n- a:\n  - 1\n  # kept\n  b: 2\n", ("l", 0, "a"), "l:\n- # kept\n  b: 2\n"),
        ("l:\n- a: 1\n  b: 2\n", ("l", 0, "b"), "l:\n- a: 1\n"),
        ("l:\n- a: 1\n- a: 2\n", ("l", 0, "a"), None),
        ("l:\r\n- a: 1\r\n  b: 2\r\n", ("l", 0, "a"), "l:\r\n- b: 2\r\n"),
        ("m: {a: 1, b: 2}\n", ("m", "a"), "m: {b: 2}\n"),
        ("m: {a: 1, b: [2]}\n", ("m", "b"), "m: {a: 1}\n"),
        ("m: {a: 1}\n", ("m", "a"), "m: {}\n"),
        ("a: 1\nb: 2", ("b",), "a: 1\n"),
    ],
)
def test_remove_entry(text: str, path: Path, expected: str | None) -> None:
    edits = edit.remove_entry(parsed(text, *path))
    assert (applied(text, edits) if edits else None) == expected


@pytest.mark.parametrize(
    "repair",
    [
        lambda node: edit.replace_scalar(node, "new"),
        lambda node: edit.unquote(node, "new"),
        lambda node: edit.rename_key(node, "new"),
        lambda node: edit.rename_to_list(node, "new"),
        lambda node: edit.add_entry(node, "b", "x"),
        edit.wrap_in_list,
        edit.remove_entry,
    ],
)
@pytest.mark.parametrize("quoted", ["""'{"a": "old"}'""", '''"{\\"a\\": \\"old\\"}"''', '|\n  {"a": "old"}'])
def test_what_was_parsed_out_of_a_text_is_left_alone(
    repair: Callable[[Scalar], tuple[Edit, ...]], quoted: str
) -> None:
    outer = scalar(f"annotation: {quoted}\n", "annotation")
    inner = scalar(outer.text, "a")
    for node in (inner, inner.key):
        assert node is not None
        node.source, node.start, node.end = outer.source, outer.start, outer.end
    assert repair(inner) == ()


@pytest.mark.parametrize(
    ("model", "text", "expected"),
    [
        (BareMetalPlatform, "apiVIP: 192.0.2.5 # api\n", "apiVIPs:\n- 192.0.2.5 # api\n"),
        (BareMetalPlatform, "apiVIP: 192.0.2.5\napiVIPs: [192.0.2.5]\n", "apiVIPs: [192.0.2.5]\n"),
        (BareMetalPlatform, "provisioningHostIP: 192.0.2.3\n", "clusterProvisioningIP: 192.0.2.3\n"),
        (BareMetalPlatform, "provisioningDHCPExternal: true\n", "provisioningNetwork: Unmanaged\n"),
        (BareMetalPlatform, "provisioningDHCPExternal: false\nhosts: []\n", "hosts: []\n"),
        (
            BareMetalPlatform,
            "provisioningDHCPExternal: true\nprovisioningNetwork: Managed\n",
            "provisioningNetwork: Managed\n",
        ),
        (Networking, "type: OVNKubernetes\n", "networkType: OVNKubernetes\n"),
        (Networking, "machineCIDR: 192.0.2.0/24\n", "machineNetwork:\n- cidr: 192.0.2.0/24\n"),
        (Networking, "machineCidr: 192.0.2.0/24\n", "machineNetwork:\n- cidr: 192.0.2.0/24\n"),
        (Networking, "serviceCIDR: 198.51.100.0/24\n", "serviceNetwork:\n- 198.51.100.0/24\n"),
        (
            Networking,
            "clusterNetworks:\n- cidr: 10.128.0.0/14\n  hostSubnetLength: 9\n",
            "clusterNetwork:\n- cidr: 10.128.0.0/14\n  hostPrefix: 23\n",
        ),
        (
            Networking,
            "machineCIDR: 192.0.2.0/24\nmachineNetwork:\n- cidr: 192.0.2.0/24\n",
            "machineNetwork:\n- cidr: 192.0.2.0/24\n",
        ),
        (
            InstallConfig,
            "imageContentSources:\n- source: registry.example.com/a\n",
            "imageDigestSources:\n- source: registry.example.com/a\n",
        ),
    ],
)
def test_old_fields_are_rewritten(model: type[Model], text: str, expected: str) -> None:
    for _ in range(2):
        binder = Binder(partial=True)
        binder.bind(model, parsed(text))
        assert {found.rule.slug for found in binder.problems} <= {"deprecated-field", "key-case"}
        # As repairing does it: what overlaps has to wait for the next round.
        edits = list(dict.fromkeys(each for found in binder.problems for each in found.edits))
        if any(found.rule.slug == "key-case" for found in binder.problems):
            edits = [each for found in binder.problems[:1] for each in found.edits]
        text = apply_edits(text, [each for each in edits if isinstance(each, Edit)])
    assert text == expected


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (BareMetalPlatform, "apiVIP: 192.0.2.5\napiVIPs: [192.0.2.6]\n"),
        (Networking, "machineCIDR: 192.0.2.0/24\nmachineNetwork: [{cidr: 198.51.100.0/24}]\n"),
        (Networking, "type: OVNKubernetes\nnetworkType: Calico\n"),
        (Networking, "clusterNetwork: [{cidr: 10.128.0.0/14, hostSubnetLength: 9, hostPrefix: 24}]\n"),
    ],
)
def test_old_fields_that_contradict_are_an_error(model: type[Model], text: str) -> None:
    binder = Binder(partial=True)
    binder.bind(model, parsed(text))
    (found,) = binder.problems
    assert found.rule.slug == "deprecated-and-current"
    assert not found.edits


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (BareMetalPlatform, "apiVIP: 192.0.2.500\n"),
        (BareMetalPlatform, "apiVIP: 192.0.2.5\napiVIPs: 192.0.2.6\n"),
        (Networking, "clusterNetwork: [{cidr: nonsense, hostSubnetLength: 9}]\n"),
    ],
)
def test_old_fields_that_cannot_be_compared_get_no_repair(model: type[Model], text: str) -> None:
    binder = Binder(partial=True)
    binder.bind(model, parsed(text))
    assert [found.edits for found in binder.problems if found.rule.slug == "deprecated-field"] == [()]
