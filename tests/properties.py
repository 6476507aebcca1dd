# SPDX-License-Identifier: Apache-2.0
"""What has to hold for every site, however broken."""

from __future__ import annotations

from muster.config.check import check_folder, is_valid
from muster.config.document.folder import Memory
from muster.config.manifests import render_manifests
from muster.config.repair import render_diff, repair_folder
from muster.config.report import problems_json, render_problems
from muster.config.resolve import resolve_site
from muster.config.show import plan_json, render_plan
from muster.model.site import Environment

ENVIRONMENT = Environment()


def check_properties(folder: Memory) -> None:
    """Checking never fails; a repair never makes things worse and is final; a valid site has a plan."""
    site, problems = check_folder(folder, ENVIRONMENT)
    render_problems(problems)
    problems_json(problems)
    repaired = repair_folder(folder, ENVIRONMENT)
    render_diff(repaired)
    after = Memory({**folder.files, **repaired.files})
    if is_valid(problems):
        assert is_valid(list(repaired.remaining)), "a repair made a valid site invalid"
        if site.install is not None and site.image_based is None:
            plan = resolve_site(site)
            render_plan(plan)
            plan_json(plan)
            render_manifests(plan)
    again = repair_folder(after, ENVIRONMENT)
    assert not again.files, f"a second repair found more: {list(again.files)}"
