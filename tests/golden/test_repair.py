# SPDX-License-Identifier: Apache-2.0
"""Repairs: the smallest change of text, shown as it will be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.config.check import check_folder, is_valid
from muster.config.document.folder import Directory, Memory
from muster.config.repair import render_diff, repair_folder
from muster.config.report import render_problems
from muster.model.catalogue import rules
from muster.model.site import Environment
from tests.conftest import Golden
from tests.golden.cases import HERE, RULE_CASES, build_case

ENVIRONMENT = Environment()


def test_files_of_the_first_preview(golden: Golden) -> None:
    """Everything under spec:, files one folder too deep, doubled quotes, and a question that is left."""
    folder = Directory(HERE / "preview")
    assert not is_valid(check_folder(folder, ENVIRONMENT)[1])
    repaired = repair_folder(folder, ENVIRONMENT)
    assert is_valid(list(repaired.remaining))
    golden(
        HERE / "preview" / "repaired.txt",
        f"{render_diff(repaired)}\n\n{render_problems(repaired.remaining)}\n",
    )
    again = repair_folder(Memory(repaired.files, folder), ENVIRONMENT)
    assert not again.files


@pytest.mark.parametrize("path", RULE_CASES, ids=lambda path: path.stem)
def test_repair_of_a_case(path: Path, tmp_path: Path, golden: Golden) -> None:
    """A case whose rule says that it can be repaired is, and then the rule holds."""
    case = build_case(path, tmp_path)
    environment = Environment.of(case.get("environment", {}))
    folder = Directory(tmp_path)
    rule_id = path.stem.partition("-")[0]
    _, before = check_folder(folder, environment)
    if not any(problem.edits for problem in before if problem.rule.id == rule_id):
        return
    repaired = repair_folder(folder, environment)
    assert rule_id not in {problem.rule.id for problem in repaired.remaining}
    golden(HERE / "repairs" / f"{path.stem}.diff", render_diff(repaired) + "\n")


def test_rules_that_say_repair_have_one(tmp_path: Path) -> None:
    found = set()
    for path in RULE_CASES:
        target = tmp_path / path.stem
        case = build_case(path, target)
        _, problems = check_folder(Directory(target), Environment.of(case.get("environment", {})))
        found |= {problem.rule.id for problem in problems if problem.edits}
    assert found == {rule.id for rule in rules().values() if rule.repair}
