# SPDX-License-Identifier: Apache-2.0
"""The payload of this house: it fits together, and its add-ons are what they say."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from muster.release.build.golang import escape_module
from muster.release.build.reading import find_add_ons, load_recipe
from muster.release.build.recipe import Extra, find_home
from muster.release.build.whole import fill_images, find_sum
from muster.release.model import ConditionKind
from muster.release.oci.reference import parse_reference

HOME = find_home()
RECIPE = load_recipe(HOME, ["all"])
KINDS = {
    ConditionKind.DEPLOYMENT_AVAILABLE: "Deployment",
    ConditionKind.DAEMON_SET_READY: "DaemonSet",
    ConditionKind.API_SERVICE_AVAILABLE: "APIService",
    ConditionKind.STORAGE_CLASS_EXISTS: "StorageClass",
    ConditionKind.INGRESS_CLASS_EXISTS: "IngressClass",
}
DIGEST = f"sha256:{'0' * 64}"
PULLSPECS = {picture.id: f"{RECIPE.image_name(picture.id)}@{DIGEST}" for picture in RECIPE.pictures}
every_add_on = pytest.mark.parametrize("extra", RECIPE.extras, ids=lambda extra: extra.id)


def _objects(extra: Extra) -> list[dict[str, Any]]:
    found = []
    for path in extra.manifests:
        text = fill_images(path.read_text("utf-8"), PULLSPECS, path.name)
        assert "${" not in text
        found += [each for each in yaml.safe_load_all(text) if each]
    return found


def test_a_release_has_what_nodes_need() -> None:
    own = load_recipe(HOME)
    assert [picture.id for picture in own.pictures] == ["kube", "coredns", "pause"]
    assert {"kubelet", "kube-apiserver", "etcd", "kubectl", "kubeadm"} <= set(own.program("kube").links)
    assert own.version == own.part("kubernetes").version


def test_the_names_of_images_can_be_pulled() -> None:
    for pullspec in PULLSPECS.values():
        assert parse_reference(pullspec).registry == RECIPE.registry


def test_every_module_is_pinned() -> None:
    for part in RECIPE.parts:
        if part.module:
            assert find_sum(RECIPE.program(part.program).folder, part).startswith("h1:")
            assert part.source.startswith("https://")


def test_versions_that_programs_tell_are_those_of_their_components() -> None:
    for program in RECIPE.programs:
        versions = {part.version for part in RECIPE.parts if part.program == program.id}
        for name, value in program.variables.items():
            if name.rpartition(".")[2] in ("gitVersion", "Version", "VERSION"):
                assert value in versions, name


def test_what_stands_in_is_there_and_for_a_module_that_is_built() -> None:
    for program in RECIPE.programs:
        sums = (program.folder / "go.sum").read_text("utf-8") if program.overlay else ""
        for name, own in program.overlay.items():
            assert (program.folder / own).is_file()
            module = re.match(r"(.+)@(v[^/]+)/", name)
            assert module
            assert f"{module[1]} {module[2]} h1:" in sums
            assert escape_module(name)


def test_go_that_is_got_is_new_enough() -> None:
    assert RECIPE.go.toolchain.split(".") >= RECIPE.go.minimum.split(".")
    for program in RECIPE.programs:
        needed = re.search(r"^go (\S+)$", (program.folder / "go.mod").read_text("utf-8"), re.MULTILINE)
        assert needed
        assert [int(n) for n in needed[1].split(".")] <= [int(n) for n in RECIPE.go.minimum.split(".")]


@every_add_on
def test_an_add_on_is_described(extra: Extra) -> None:
    assert len(extra.description) > 100
    assert "\n" not in extra.description
    assert extra.version == RECIPE.part(extra.id).version
    assert set(extra.dependencies) | set(extra.conflicts) <= set(find_add_ons(HOME)) - {extra.id}


@every_add_on
def test_an_add_on_uses_its_images_and_no_others(extra: Extra) -> None:
    text = "".join(path.read_text("utf-8") for path in extra.manifests)
    assert set(re.findall(r"\$\{image:([^}]*)\}", text)) == set(extra.images)
    assert len(re.findall(r"^\s*image: ", text, re.MULTILINE)) == len(
        re.findall(r"^\s*image: \$\{image:", text, re.MULTILINE)
    )


@every_add_on
def test_what_tells_that_an_add_on_is_ready_is_among_its_objects(extra: Extra) -> None:
    there = {
        (each["kind"], each["metadata"]["name"], each["metadata"].get("namespace", ""))
        for each in _objects(extra)
    }
    assert extra.ready
    for condition in extra.ready:
        assert (KINDS[condition.kind], condition.name, condition.namespace) in there


@every_add_on
def test_containers_of_an_add_on_say_what_they_need_and_may_do_little(extra: Extra) -> None:
    workloads = [each for each in _objects(extra) if each["kind"] in ("Deployment", "DaemonSet")]
    assert workloads
    for workload in workloads:
        assert workload["spec"]["selector"]["matchLabels"].items() <= (
            workload["spec"]["template"]["metadata"]["labels"].items()
        )
        for container in workload["spec"]["template"]["spec"]["containers"]:
            assert container["resources"]["requests"].keys() == {"cpu", "memory"}
            rights = container["securityContext"]
            assert rights["runAsNonRoot"]
            assert rights["readOnlyRootFilesystem"]
            assert not rights["allowPrivilegeEscalation"]


@every_add_on
def test_objects_of_an_add_on_are_in_namespaces_that_exist(extra: Extra) -> None:
    objects = _objects(extra)
    own = {each["metadata"]["name"] for each in objects if each["kind"] == "Namespace"}
    used = {each["metadata"]["namespace"] for each in objects if "namespace" in each["metadata"]}
    assert used <= own | {"kube-system"}
