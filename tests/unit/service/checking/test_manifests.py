# SPDX-License-Identifier: Apache-2.0
"""Manifests, judged while they are written."""

from __future__ import annotations

import pytest

from muster.model.release import KUBERNETES, OPENSHIFT
from muster.service.checking.manifests import (
    MAX_FINDINGS,
    ManifestReport,
    ManifestToCheck,
    check_manifest,
)
from muster.service.decisions.manifests import MAX_BYTES

GOOD = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\n  namespace: kube-system\n"


def check(content: str, name: str = "one.yaml") -> ManifestReport:
    return check_manifest(ManifestToCheck(file_name=name, content=content), KUBERNETES)


def test_a_good_one_says_what_is_in_it() -> None:
    report = check(f"{GOOD}---\n{GOOD.replace('one', 'two')}---\n")
    assert report.valid
    assert report.problems == ()
    assert [(each.kind, each.name, each.namespace) for each in report.documents] == [
        ("ConfigMap", "one", "kube-system"),
        ("ConfigMap", "two", "kube-system"),
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "nothing is in it"),
        ("# only words\n", "nothing is in it"),
        ("- a\n", "not an object"),
        ("just text", "not an object"),
        ("kind: ConfigMap\n", "apiVersion, metadata.name"),
        (f"{GOOD}---\nkind: Pod\n", "document 2 has no apiVersion"),
        ("a: [1, 2\n", ""),
        ("a: !!bool perhaps\n", "not YAML that Kubernetes reads"),
        ("a: !!int ''\n", "not YAML that Kubernetes reads"),
        ("a:\n\tb: 1\n", ""),
        ("a: &x [*x]\n", ""),
        ("\x00", ""),
        ("!!python/object:os.system {}", ""),
        ("{" * 5000, ""),
    ],
)
def test_what_is_wrong_is_said(content: str, words: str) -> None:
    report = check(content)
    assert not report.valid
    assert any(words in each.message for each in report.problems)


def test_a_mistake_has_its_line() -> None:
    report = check("a: 1\nb: [1, 2\nc: 3\n")
    assert report.problems[0].line in (2, 3)


def test_one_that_is_too_large() -> None:
    report = check("a: " + "x" * MAX_BYTES)
    assert str(MAX_BYTES) in report.problems[0].fix


@pytest.mark.parametrize("name", ["", "one", "one.txt", "../one.yaml", "a b.yaml", "one.yaml/"])
def test_names_that_no_manifest_can_have(name: str) -> None:
    assert "file name" in check(GOOD, name).problems[0].message


def test_a_patch_is_a_list() -> None:
    assert check("- op: remove\n  path: /a\n", "one.yaml.patch_1").valid
    assert not check(GOOD, "one.yaml.patch_1").valid


LUKS = """\
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {name: 99-luks}
spec: {config: {storage: {luks: [{name: root}]}}}
"""


def test_settings_of_hosts_that_nothing_applies_are_an_error() -> None:
    report = check(LUKS)
    assert not report.valid
    assert "nothing in a release of Kubernetes applies a MachineConfig" in report.problems[0].message
    wanted = ManifestToCheck(file_name="99-luks.yaml", content=LUKS)
    assert check_manifest(wanted, OPENSHIFT).valid


def test_problems_that_are_shown_are_bounded() -> None:
    report = check("- !!binary QUFB\n" * 1000)
    assert len(report.problems) == MAX_FINDINGS + 1
    assert "only the first ones are shown" in report.problems[-1].message


def test_a_mebibyte_of_definitions_is_good() -> None:
    text = GOOD + "data:\n" + "".join(f"  key-{number}: {{type: string}}\n" for number in range(36_000))
    assert MAX_BYTES - 100_000 < len(text) <= MAX_BYTES
    assert check(text).valid
