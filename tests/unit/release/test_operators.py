# SPDX-License-Identifier: Apache-2.0
"""The catalogue of operators holds together, and what is chosen from it does, too."""

from __future__ import annotations

from dataclasses import replace
from graphlib import TopologicalSorter

import pytest
import yaml

from muster.errors import UserError
from muster.release.operators.catalogue import bundles, find_operator, operators, parse_version
from muster.release.operators.choose import choose_operators, needed_by, operators_of
from muster.release.operators.model import Choice, HostNeeds
from muster.release.operators.render import render_operators

LARGE = Choice((4, 22), masters=3, workers=3, spare_disks=6)
SINGLE = Choice((4, 22), masters=1)


def ids(names: list[str], choice: Choice = LARGE) -> list[str]:
    return [each.id for each in choose_operators(names, choice)]


def test_the_catalogue_refers_to_what_is_there() -> None:
    known = set(operators())
    assert len(known) >= 28
    for each in operators().values():
        assert {dependency.id for dependency in each.dependencies} <= known, each.id
        assert each.conflicts <= known, each.id
        assert {membership.id for membership in each.bundles} <= set(bundles()), each.id
        assert each.namespace.is_there or each.group is not None, each.id
        assert each.description.endswith("."), each.id
        assert not set(each.aliases) & known
        for other in each.conflicts:
            assert each.id in operators()[other].conflicts


def test_no_operator_needs_itself_in_the_end() -> None:
    graph = {each.id: {needed.id for needed in each.dependencies} for each in operators().values()}
    assert [*TopologicalSorter(graph).static_order()]


@pytest.mark.parametrize("name", operators())
def test_manifests_are_objects_of_the_cluster(name: str) -> None:
    each = operators()[name]
    for piece in (*each.manifests, *each.post_install):
        body = yaml.safe_load(piece.manifest.replace("$disks", "3"))
        assert {"apiVersion", "kind", "metadata"} <= body.keys()
        assert body["metadata"]["name"]
    for ready in each.ready:
        assert bool(ready.condition) != bool(ready.field and ready.value)
        made = [yaml.safe_load(piece.manifest.replace("$disks", "3")) for piece in each.post_install]
        assert any(
            (body["kind"], body["apiVersion"], body["metadata"]["name"])
            == (ready.kind, ready.api_version, ready.name)
            for body in made
        ), "what is waited for is what is made"


def test_what_is_needed_comes_along_and_before() -> None:
    assert ids(["cluster-observability"]) == ["loki", "openshift-logging", "cluster-observability"]
    assert ids(["amd-gpu"]) == ["node-feature-discovery", "kmm", "amd-gpu"]
    assert ids(["ocs"]) == ["lso", "odf"]
    assert ids(["openshift-ai"]) == ["openshift-ai"]
    assert ids(["openshift-ai"], SINGLE) == ["lvm", "openshift-ai"]
    chosen = choose_operators(["odf", "mtv"], LARGE)
    assert needed_by(chosen, LARGE) == {"lso": ("odf",), "cnv": ("mtv",)}


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(UserError, match="cannot be in one cluster"):
        ids(["odf", "lvm"])
    with pytest.raises(UserError, match="does not work on a single node"):
        ids(["odf"], SINGLE)
    with pytest.raises(UserError, match=r"needs OpenShift 4\.17 or later"):
        ids(["loki"], replace(LARGE, version=(4, 16)))
    with pytest.raises(UserError, match="there is no operator 'cvn'") as caught:
        ids(["cvn"])
    assert caught.value.hint == "did you mean cnv?"


def test_bundles_depend_on_the_cluster() -> None:
    def of(bundle: str, choice: Choice) -> set[str]:
        return {each.id for each, is_optional in operators_of(bundle, choice) if not is_optional}

    assert of("openshift-ai", LARGE) == {
        "openshift-ai", "odf", "pipelines", "servicemesh", "serverless", "authorino",
    }  # fmt: skip
    assert of("openshift-ai", SINGLE) == {"openshift-ai", "lvm"}
    assert {each.id for each, is_optional in operators_of("openshift-ai", LARGE) if is_optional} == {
        "nvidia-gpu",
        "amd-gpu",
    }
    assert {"cnv", "mtv", "nmstate", "metallb", "oadp", "loki"} <= of("virtualization", LARGE)
    assert "self-node-remediation" not in of("virtualization", LARGE)
    with pytest.raises(UserError, match="there is no bundle 'x'"):
        operators_of("x", LARGE)


def test_requirements_of_the_closest_role_count() -> None:
    odf, cnv = operators()["odf"].requirements, operators()["cnv"].requirements
    assert odf.of("worker", LARGE).cpus == 8
    assert odf.of("master", replace(LARGE, workers=0)).cpus == 6
    assert cnv.of("master", LARGE).memory_mib == 150
    assert operators()["mce"].requirements.of("master", SINGLE).memory_mib == 32768
    assert operators()["kmm"].requirements.of("worker", LARGE) == HostNeeds()


def test_operators_that_share_a_namespace_get_one_group() -> None:
    chosen = choose_operators(["fence-agents-remediation", "self-node-remediation"], LARGE)
    names = [name for name, _ in render_operators(chosen, LARGE).install]
    assert len([name for name in names if name.endswith("_group.yaml")]) == 1
    assert len([name for name in names if name.endswith("_subscription.yaml")]) == 3


def test_versions() -> None:
    assert parse_version("4.21") == parse_version("4.21.0-rc.1") == (4, 21)
    for text in ("", "4", "4.x", "v4.21", "4.99999"):
        with pytest.raises(UserError, match="is not a version"):
            parse_version(text)
    assert find_operator("nothing") is None
