# SPDX-License-Identifier: Apache-2.0
"""Every example site holds, its plan is what it was, and its manifests give the same plan back."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.config.check import check_folder
from muster.config.document.folder import Directory, Memory
from muster.config.manifests import render_manifests
from muster.config.report import render_problems
from muster.config.resolve import resolve_site
from muster.config.show import plan_json, render_plan
from muster.model.plan import Plan
from muster.model.site import Environment
from tests.conftest import Golden

ROOT = Path(__file__).parent.parent.parent
HERE = Path(__file__).parent
EXAMPLES = sorted(path for path in (ROOT / "examples").iterdir() if path.is_dir())
CLUSTERS = [
    path
    for path in EXAMPLES
    if (path / "install-config.yaml").exists() or (path / "cluster-manifests").exists()
    if not (path / "image-based-config.yaml").exists()
]


def resolve(folder: Directory | Memory) -> Plan:
    site, problems = check_folder(folder, Environment())
    assert render_problems(problems) == render_problems([])
    return resolve_site(site)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_holds_without_a_warning(path: Path) -> None:
    _, problems = check_folder(Directory(path), Environment())
    assert render_problems(problems) == render_problems([])


@pytest.mark.parametrize("path", CLUSTERS, ids=lambda path: path.name)
def test_plan(path: Path, golden: Golden) -> None:
    plan = resolve(Directory(path))
    golden(HERE / "plans" / f"{path.name}.txt", render_plan(plan) + "\n")
    assert plan.pull_secret.reveal() not in str(plan_json(plan)) + repr(plan)


@pytest.mark.parametrize("path", CLUSTERS, ids=lambda path: path.name)
def test_manifests_give_the_same_plan(path: Path) -> None:
    plan = resolve(Directory(path))
    files: dict[str, bytes | None] = {name: text.encode() for name, text in render_manifests(plan).items()}
    beside = resolve(Memory(files, Directory(path)))
    assert beside == plan
    alone = resolve(Memory({**files, "install-config.yaml": None}, Directory(path)))
    assert alone == plan


@pytest.mark.parametrize("name", ["ha-baremetal", "disconnected-mirror", "nutanix", "two-node-fencing"])
def test_manifests(name: str, golden: Golden) -> None:
    files = render_manifests(resolve(Directory(ROOT / "examples" / name)))
    text = "".join(f"===== {file}\n{files[file]}" for file in sorted(files))
    golden(HERE / "manifests" / f"{name}.txt", text)
