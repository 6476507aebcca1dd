# SPDX-License-Identifier: Apache-2.0
"""Plans of labs for tests."""

from __future__ import annotations

from muster.config.check import check_folder, is_valid
from muster.config.document.folder import Folder, Memory
from muster.config.report import render_problems
from muster.config.resolve import resolve_site
from muster.lab.plan import LabPlan
from muster.lab.planning import Wishes, plan_lab
from muster.model.site import Environment
from tests.sites import Shape, build_site


def plan_of(
    shape: Shape | None = None, lab: str = "", *, folder: Folder | None = None, wishes: Wishes | None = None
) -> LabPlan:
    """The lab of a site of this shape, or in a folder, with this lab.yaml."""
    files = {} if folder else build_site(shape or Shape())
    if lab:
        files["lab.yaml"] = lab.encode()
    site, problems = check_folder(Memory(files, folder), Environment())
    assert is_valid(problems), render_problems(problems)
    return plan_lab(site, resolve_site(site), wishes or Wishes())
