# SPDX-License-Identifier: Apache-2.0
"""A site's files, read and judged: every problem of every file in one run."""

from __future__ import annotations

from muster.config.document.folder import Folder
from muster.config.load import load_site
from muster.config.rules import RULES
from muster.model.catalogue import Severity
from muster.model.problem import Problem, in_order
from muster.model.site import Environment, Site


def check_folder(folder: Folder, environment: Environment) -> tuple[Site, list[Problem]]:
    """The site and all that is wrong with it, sorted by place."""
    site, problems = load_site(folder, environment)
    for rule in RULES:
        problems.extend(rule(site))
    return site, in_order(problems)


def is_valid(problems: list[Problem]) -> bool:
    """Whether nothing but warnings was found."""
    return all(problem.severity is not Severity.ERROR for problem in problems)
