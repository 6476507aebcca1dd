# SPDX-License-Identifier: Apache-2.0
"""Every rule has a site that breaks it, and the exact words that its user sees."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from muster.config.report import render_problems
from muster.model.catalogue import rules
from tests.conftest import Golden
from tests.golden.cases import HERE, RULE_CASES, check_case


@pytest.mark.parametrize("path", RULE_CASES, ids=lambda path: path.stem)
def test_case(path: Path, tmp_path: Path, golden: Golden) -> None:
    _, problems = check_case(path, tmp_path / "site")
    text = render_problems(problems).replace(str(tmp_path / "site"), "SITE") + "\n"
    rule_id = re.match(r"MC\d+", path.stem)
    assert rule_id is not None
    assert rule_id[0] in {problem.rule.id for problem in problems}, text
    golden(path.with_suffix(".txt"), text)


def test_every_rule_has_a_case() -> None:
    covered = {path.stem.partition("-")[0] for path in RULE_CASES}
    missing = {rule.id: rule.slug for rule in rules().values() if rule.id not in covered}
    assert not missing
    unknown = covered - {rule.id for rule in rules().values()}
    assert not unknown


@pytest.mark.parametrize("base", sorted((HERE / "base").iterdir()), ids=lambda path: path.name)
def test_bases_hold(base: Path) -> None:
    from muster.config.check import check_folder
    from muster.config.document.folder import Directory
    from muster.model.site import Environment

    _, problems = check_folder(Directory(base), Environment())
    assert render_problems(problems) == render_problems([])
