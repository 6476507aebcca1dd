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
from muster.cli.options import BaseImageFlags, Run
from muster.config.check import check_folder, is_valid
from muster.config.derive import release_kind
from muster.config.report import problems_json, render_count, render_problems
from muster.config.resolve import resolve_site
from muster.config.rules.machines import adds_nodes, is_agent_based
from muster.config.rules.settings import settings_problems
from muster.config.state import inputs_of
from muster.errors import ConfigError, UserError
from muster.model.plan import Plan
from muster.model.problem import Problem, in_order
from muster.model.release import kind_of_image
from muster.model.site import Environment, Site


def environment(base_image: BaseImageFlags | None = None) -> Environment:
    """The environment variables, the date, and what the flags of this run say about the release."""
    found = replace(Environment.of(os.environ), today=datetime.now(UTC).date())
    if base_image is None:
        return found
    return replace(found, release_kind=_kind_of(base_image), has_base_image=bool(base_image.source))


def _kind_of(flags: BaseImageFlags) -> str:
    """The kind of the release that --release names; empty when there is none, or its name does not tell."""
    if not flags.release:
        return ""
    from muster.cli.release_base import release_names

    kinds = {kind_of_image(name) for name in release_names(flags)}
    return kinds.pop() if len(kinds) == 1 else ""


def load_valid_site(
    run: Run, base_image: BaseImageFlags | None = None, *, may_be_empty: bool = False
) -> Site:
    """The site, if nothing but warnings was found; these go to standard error."""
    found, problems = check_folder(inputs_of(run.directory), environment(base_image))
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


def check_settings(run: Run, found: Site, kind: str) -> None:
    """Judge the settings again, by the kind of the release: it may be known only after the check."""
    if not kind or found.image_based is not None or adds_nodes(found):
        return
    # A directory for hosts of any site holds no cluster, and was not judged by this.
    judged = settings_problems(found, release_kind(found)) if is_agent_based(found) else ()
    told = {(each.place, each.rule.slug) for each in judged}
    problems = in_order(
        [each for each in settings_problems(found, kind) if (each.place, each.rule.slug) not in told]
    )
    log.note_problems(problems)
    if not is_valid(problems):
        _show(run, problems)
        raise ConfigError(
            f"{_what(run, found)}: {render_count(problems)}",
            hint=_way_out(run, problems),
        )
    if problems:
        click.echo(render_problems(problems), err=True)


def _what(run: Run, found: Site) -> str:
    return f"the files in {run.directory} do not hold" if found.sources else f"{run.directory} holds no site"


def require_files(run: Run, names: Sequence[str], hint: str) -> None:
    """Files that a verb cannot do without; told before anything is judged as something else."""
    missing = [name for name in names if not (run.directory / name).exists()]
    if missing:
        raise UserError(f"there is no {' and no '.join(missing)} in {run.directory}", hint=hint)


def _way_out(run: Run, problems: list[Problem]) -> str:
    if any(problem.edits for problem in problems):
        return f"`muster check --dir {run.directory} --fix` mends the mechanical ones"
    return "mend what is listed above, then run the command again"


def load_cluster(run: Run, base_image: BaseImageFlags | None = None) -> tuple[Site, Plan]:
    """A valid site that describes a cluster, and its plan."""
    found = load_valid_site(run, base_image)
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
