# SPDX-License-Identifier: Apache-2.0
"""Odd input, one case each, that once went wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from muster.config.check import check_folder, is_valid
from muster.config.document.folder import Memory
from muster.config.document.parse import MAX_PROBLEMS, parse_yaml
from muster.config.document.slips import mend_slips
from muster.config.manifests import render_manifests
from muster.config.repair import repair_folder
from muster.config.resolve import resolve_site
from muster.model.site import Environment
from muster.model.tree import Source
from tests.counting import calls_in
from tests.properties import check_properties
from tests.sites import Shape, build_site


def changed(old: str, new: str, file: str = "install-config.yaml", shape: Shape | None = None) -> Memory:
    files = build_site(shape or Shape())
    text = (files[file] or b"").decode()
    assert old in text
    return Memory({**files, file: text.replace(old, new, 1).encode()})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("apiVersion: v1", "? apiVersion"),
        ("apiVersion: v1", "? apiVersion\n: v1"),
        ("replicas: 3", f"replicas: {'9' * 5000}"),
        ("baseDomain: example.com", f"baseDomain: {'9' * 5000}"),
        ("apiVersion: v1", f"apiVersion: v1\nproxy: {{httpProxy: 'http://h:{'9' * 5000}'}}"),
        ("apiVersion: v1", "a0: &a [[x]]\n" + "".join(f"a{n}: &a [[[*a]]]\n" for n in range(200))),
        ("baseDomain: example.com", 'baseDomain: "\\e]0;title\\a"'),
    ],
)
def test_is_answered(old: str, new: str) -> None:
    check_properties(changed(old, new))


@pytest.mark.parametrize("end", ["\x85", "\u2028", "\u2029", "\r"])
def test_a_slip_is_found_on_its_line_whatever_ends_lines(end: str) -> None:
    """YAML ends lines at characters at which editors, and `Source`, do not."""
    check_properties(Memory({"install-config.yaml": f"a: ''x''{end}{end} [".encode()}))
    text = f"# {end}{end}{end}\na: ''x''\n"
    _, problems = parse_yaml(Source("install-config.yaml", text))
    assert [(found.rule.slug, found.place.line) for found in problems] == [("doubled-quotes", 2)]


@pytest.mark.parametrize("end", ["\x85", "\u2028", "\u2029"])
def test_a_missing_colon_is_found_on_its_line_whatever_ends_lines(end: str) -> None:
    _, problems = parse_yaml(Source("install-config.yaml", f"# {end}{end}\nkey value\nother: 1\n"))
    assert [(found.rule.slug, found.place.line) for found in problems] == [("yaml-syntax", 2)]
    _, problems = parse_yaml(Source("install-config.yaml", f"# {end}{end}\na: [1,\n2\nc: 1\n"))
    assert "(which began on line 2)" in problems[0].message


def test_slips_in_a_large_file_are_mended_within_bounds() -> None:
    """Each slip costs a pass over the file."""
    large = "# " + "x" * (12 << 20) + "\n"
    _, problems = parse_yaml(Source("install-config.yaml", large + "a: ''x''\n" * 50))
    assert 1 <= sum(found.rule.slug == "doubled-quotes" for found in problems) <= 2


@pytest.mark.parametrize("begin", ["[", "{a: ", "- ", "? "])
def test_a_deep_file_with_a_slip_is_not_read_to_its_end(begin: str) -> None:
    """libyaml takes time in proportion to the square of the depth."""
    _, problems = parse_yaml(Source("install-config.yaml", begin * 300_000 + "\t''x''"))
    assert [found.rule.slug for found in problems] == ["too-deep"]
    check_properties(Memory({"install-config.yaml": f"apiVersoin: v1\na: {begin * 100_000}".encode()}))


def test_many_directives_are_refused() -> None:
    text = "".join(f"%TAG !{number}! x\n" for number in range(100_000))
    _, problems = parse_yaml(Source("install-config.yaml", f"{text}--- ''x''"))
    assert [found.rule.slug for found in problems] == ["yaml-syntax"]


def test_many_anchors_are_not_quadratic() -> None:
    anchors = "".join(f"- &a{n} []\n" for n in range(20_000))
    check_folder(Memory({"install-config.yaml": f"x:\n{anchors}".encode()}), Environment())


def test_a_long_line_is_not_quadratic() -> None:
    check_properties(changed("apiVersion: v1", f"apiVersion: v1\nsshKeyy: {'A' * 300_000}"))


@pytest.mark.parametrize(
    "line", ["- !!binary QUFB", "- password: !a b", "? [a]\n  : 1", "<<: 1", "a: 1", "k{}: 1", "\t- a"]
)
def test_what_many_mistakes_cost_grows_with_their_number(line: str) -> None:
    """60 kB of unknown tags once took 96 s: all lines were searched for secrets for each of them."""

    def check(count: int) -> Callable[[], object]:
        text = "".join(f"  {line.replace('{}', str(number))}\n" for number in range(count))
        return lambda: check_folder(Memory({"install-config.yaml": f"x:\n{text}".encode()}), Environment())

    check(10)()  # What is made once is made.
    few, many = calls_in(check(100)), calls_in(check(800))
    assert many < 12 * few


def test_mistakes_of_one_file_are_bounded() -> None:
    text = "- !!binary QUFB\n" * 5000
    _, problems = check_folder(Memory({"install-config.yaml": text.encode()}), Environment())
    assert len(problems) <= MAX_PROBLEMS + 10


def test_lines_that_are_mended_are_bounded_by_what_is_read_again() -> None:
    """Each mended line costs a pass over all before it."""
    text = "- a\n" * 60_000 + "\t- b\n" * 200
    mended, problems = mend_slips(Source("a.yaml", text))
    assert len(problems) <= 10
    assert len(mended) == len(text)


def test_a_file_that_only_moves_is_written() -> None:
    files = build_site(Shape())
    moved = {f"cluster-manifests/{name}": data for name, data in files.items()}
    repaired = repair_folder(Memory(moved), Environment())
    assert {name: data for name, data in repaired.files.items() if data is not None} == files
    assert {name for name, data in repaired.files.items() if data is None} == set(moved)


def test_texts_in_blocks_are_left_alone() -> None:
    text = "key: ''text''\n    all:\n    \tcc\n"
    manifest = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x}}\ndata:\n  a: |\n    {text}"
    folder = Memory({**build_site(Shape()), "openshift/a.yaml": manifest.encode()})
    assert is_valid(check_folder(folder, Environment())[1])
    assert not repair_folder(folder, Environment()).files


@pytest.mark.parametrize("name", ["7e5", "0o7", "y", "1e3", "0x1f", "1-0"])
def test_names_that_look_like_numbers(name: str) -> None:
    files = build_site(Shape(name=name))
    site, problems = check_folder(Memory(files), Environment())
    assert is_valid(problems)
    written: dict[str, bytes | None] = {
        file: text.encode() for file, text in render_manifests(resolve_site(site)).items()
    }
    again, _ = check_folder(Memory({**files, **written, "install-config.yaml": None}), Environment())
    assert resolve_site(again) == resolve_site(site)
    text = (written["cluster-manifests/cluster-deployment.yaml"] or b"").decode()
    assert f"clusterName: {name}\n" not in text or name == "1-0"


def test_fields_that_only_manifests_have_survive() -> None:
    files = build_site(Shape())
    site, _ = check_folder(Memory(files), Environment())
    written: dict[str, bytes | None] = {
        file: text.encode() for file, text in render_manifests(resolve_site(site)).items()
    }
    name = "cluster-manifests/agent-cluster-install.yaml"
    text = (written[name] or b"").decode() + "  diskEncryption:\n    enableOn: none\n    mode: tpmv2\n"
    folder = Memory({**files, **written, name: text.encode(), "install-config.yaml": None})
    site, problems = check_folder(folder, Environment())
    assert is_valid(problems)
    assert "enableOn: none" in render_manifests(resolve_site(site))[name]


def test_backups_are_not_files_of_the_site() -> None:
    folder = Memory(
        {**build_site(Shape()), "openshift/a.yaml.bak": b"x", "mirror/registries.conf.bak.1": b"x"}
    )
    assert not check_folder(folder, Environment())[1]
