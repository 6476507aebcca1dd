# SPDX-License-Identifier: Apache-2.0
"""What the verbs that build something do first: check the site, and resolve it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import click

from muster.cli import log
from muster.cli.options import Run
from muster.config.check import check_folder, is_valid
from muster.config.report import problems_json, render_count, render_problems
from muster.config.resolve import resolve_site
from muster.config.state import inputs_of
from muster.errors import ConfigError, UserError
from muster.model.plan import Plan
from muster.model.problem import Problem
from muster.model.site import Environment, Site


def environment() -> Environment:
    """The environment variables and the date of this run."""
    return replace(Environment.of(os.environ), today=datetime.now(UTC).date())


def load_valid_site(run: Run, *, may_be_empty: bool = False) -> Site:
    """The site, if nothing but warnings was found; these go to standard error."""
    found, problems = check_folder(inputs_of(run.directory), environment())
    if may_be_empty:
        problems = [each for each in problems if each.rule.slug != "no-site-files"]
    log.note_problems(problems)
    if not is_valid(problems):
        _show(run, problems)
        raise ConfigError(
            f"{_what(run, found)}: {render_count(problems)}",
            hint=_way_out(run, problems),
        )
    if problems:
        click.echo(render_problems(problems), err=True)
    return found


def require_files(run: Run, names: Sequence[str], hint: str) -> None:
    """Files that a verb cannot do without; told before anything is judged as something else."""
    missing = [name for name in names if not (run.directory / name).exists()]
    if missing:
        raise UserError(f"there is no {' and no '.join(missing)} in {run.directory}", hint=hint)


def _what(run: Run, found: Site) -> str:
    return f"the files in {run.directory} do not hold" if found.sources else f"{run.directory} holds no site"


def _way_out(run: Run, problems: list[Problem]) -> str:
    if any(problem.edits for problem in problems):
        return f"`muster check --dir {run.directory} --fix` mends the mechanical ones"
    return "mend what is listed above, then run the command again"


def load_cluster(run: Run) -> tuple[Site, Plan]:
    """A valid site that describes a cluster, and its plan."""
    found = load_valid_site(run)
    if found.image_based is not None:
        raise UserError(
            f"{run.directory} describes an image-based installation, which has no plan of hosts",
            hint="image-based-config.yaml is what makes it one; move it away to install with the agent",
        )
    if found.install is None:
        raise UserError(
            f"{run.directory} describes no cluster",
            hint="a plan needs install-config.yaml, or the manifests in cluster-manifests/",
        )
    return found, resolve_site(found)


def _show(run: Run, problems: list[Problem]) -> None:
    if run.as_json:
        click.echo(json.dumps(problems_json(problems), indent=2, ensure_ascii=False))
    else:
        click.echo(render_problems(problems), err=True)
