# SPDX-License-Identifier: Apache-2.0
"""Manifests that users add: taken as they are, or refused with what is wrong."""

from __future__ import annotations

import base64
from base64 import b64encode

import pytest

from muster.model.release import KUBERNETES, OPENSHIFT
from muster.model.wire.files import CreateManifestParams, UpdateManifestParams
from muster.service.decisions import manifests as decide
from muster.service.realm import Draft
from muster.service.refusals import BadRequest, NotFound, StateConflict
from tests.unit.model.test_bounded_yaml import merge_bomb
from tests.unit.service.hosts import CLUSTER, NOW, make_realm

POD = b"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"


def put(draft: Draft, name: str, body: bytes = POD) -> None:
    params = CreateManifestParams(file_name=name, content=b64encode(body).decode())
    decide.create_manifest(draft, params, decide.read_manifest(name, params.content, KUBERNETES))


def test_it_is_kept_renamed_and_removed() -> None:
    draft = Draft(make_realm(0), NOW)
    put(draft, "a.yaml")
    assert [*draft.cluster.manifests] == ["manifests/a.yaml"]
    assert draft.documents == {(CLUSTER, "manifest/manifests/a.yaml"): POD}
    change = UpdateManifestParams(folder="manifests", file_name="a.yaml", updated_folder="openshift")
    made = decide.update_manifest(draft, change, POD)
    assert (made.folder, made.file_name) == ("openshift", "a.yaml")
    assert [*draft.cluster.manifests] == ["openshift/a.yaml"]
    assert draft.documents[CLUSTER, "manifest/manifests/a.yaml"] is None
    decide.delete_manifest(draft, "openshift", "a.yaml")
    assert not draft.cluster.manifests
    with pytest.raises(NotFound, match=r"no manifest openshift/a\.yaml"):
        decide.delete_manifest(draft, "openshift", "a.yaml")


@pytest.mark.parametrize(
    ("name", "body", "why"),
    [
        ("a.txt", POD, "no name of a manifest"),
        ("a b.yaml", POD, "no name of a manifest"),
        ("../a.yaml", POD, "no name of a manifest"),
        ("a.yaml", b"a: [", "line 2: it is not YAML"),
        ("a.yaml", b"a: !!bool perhaps", "is not YAML"),
        ("a.yaml", b"a: !!int ''", "is not YAML"),
        ("a.yaml", b"\xff\xfe", "holds no object"),
        ("a.yaml", b"- a list\n", "holds no object"),
        ("a.yaml.patch_1", POD, "holds no patch"),
        ("a.yaml", b"  \n", "it is empty"),
        ("a.yaml", b"a: " + b"x" * (1 << 20), "at most"),
        ("a.yaml", merge_bomb(10).encode(), "line 11: its aliases stand for more than 100,000 values"),
    ],
)
def test_what_is_no_manifest_is_refused(name: str, body: bytes, why: str) -> None:
    with pytest.raises(BadRequest) as caught:
        put(Draft(make_realm(0), NOW), name, body)
    assert why in f"{caught.value.message} {caught.value.hint}"


def test_json_and_patches_are_manifests() -> None:
    draft = Draft(make_realm(0), NOW)
    put(draft, "a.json", b'{"kind": "Pod"}')
    put(draft, "a.yaml.patch_x", b"- op: remove\n  path: /a\n")
    assert len(draft.cluster.manifests) == 2


def test_content_that_is_not_base64() -> None:
    with pytest.raises(BadRequest, match="not base64"):
        decide.read_manifest("a.yaml", "%%", KUBERNETES)


def test_a_cluster_under_way_keeps_its_manifests() -> None:
    with pytest.raises(StateConflict, match="its manifests are fixed"):
        put(Draft(make_realm(0, status="installing"), NOW), "a.yaml")


def test_a_machine_config_is_refused_where_nothing_applies_it() -> None:
    text = "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata: {name: a}\n"
    content = base64.b64encode(text.encode()).decode()
    with pytest.raises(BadRequest, match="nothing in a release of Kubernetes applies a MachineConfig"):
        decide.read_manifest("a.yaml", content, KUBERNETES)
    assert decide.read_manifest("a.yaml", content, OPENSHIFT)


NESTED = """\
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Namespace, metadata: {name: tools}}
- apiVersion: v1
  kind: List
  items: [{apiVersion: machineconfiguration.openshift.io/v1, kind: MachineConfig, metadata: {name: a}}]
"""
BLANKS = 'apiVersion: " machineconfiguration.openshift.io/v1 "\nkind: MachineConfig\nmetadata: {name: a}\n'
SHARED = "items0: &a0 [{apiVersion: v1}]\n" + "".join(
    f"items{n}: &a{n}\n- items: *a{n - 1}\n- items: *a{n - 1}\n" for n in range(1, 11)
)


@pytest.mark.parametrize(
    "text", [NESTED, BLANKS, f"{SHARED}apiVersion: v1\nkind: List\nitems: *a10\n---\n{NESTED}"]
)
def test_a_machine_config_is_found_in_lists_and_between_blanks(text: str) -> None:
    content = base64.b64encode(text.encode()).decode()
    with pytest.raises(BadRequest, match="nothing in a release of Kubernetes applies a MachineConfig"):
        decide.read_manifest("a.yaml", content, KUBERNETES)
    assert decide.read_manifest("a.yaml", content, OPENSHIFT)
