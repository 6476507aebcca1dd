# SPDX-License-Identifier: Apache-2.0
"""`muster check`: every mistake of a site's files, and the repair of the mechanical ones."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from muster.cli import log, options, site
from muster.cli.options import Run
from muster.config.check import check_folder, is_valid
from muster.config.document.folder import Directory, read_text
from muster.config.repair import Repaired, render_diff, repair_folder
from muster.config.report import problems_json, render_problems
from muster.config.state import inputs_of
from muster.errors import ExitStatus, UserError
from muster.files import back_up, remove_file, save_file
from muster.model.problem import Problem
from muster.model.site import Environment


@click.command(
    epilog=options.examples(
        "muster check --dir mysite",
        "muster check --dir mysite --fix          # shows a diff and asks",
        "muster check --dir mysite --fix --yes    # for scripts",
        "muster check --dir mysite --output json",
    )
)
@options.site_options
@click.option("--fix", is_flag=True, help="Repair what is mechanical: shows a diff, asks, keeps a backup.")
@click.option("--yes", "-y", is_flag=True, help="With --fix: do not ask.")
def check(
    directory: str | None, log_level: str | None, output_format: str, *, fix: bool, yes: bool
) -> ExitStatus:
    """Find every mistake in a site's files: file, line and column, why it matters, and the fix.

    Reads install-config.yaml, agent-config.yaml, cluster-manifests/, mirror/, openshift/, the
    image-based configs, nodes-config.yaml and add-ons.yaml, whatever is there. No input is changed without
    --fix.
    Exit status: 0 when the files hold (warnings are allowed), 3 when they do not.
    """
    run = options.begin(directory, log_level, output_format)
    environment = site.environment()
    if yes and not fix:
        raise UserError("--yes does nothing without --fix", hint="add --fix, or leave --yes out")
    if fix:
        problems = _fix(run, environment, ask=not yes)
    else:
        _, problems = check_folder(inputs_of(run.directory), environment)
        _report(run, problems)
    return ExitStatus.OK if is_valid(problems) else ExitStatus.INVALID_CONFIG


def _report(run: Run, problems: list[Problem]) -> None:
    log.note_problems(problems)
    if run.as_json:
        click.echo(json.dumps(problems_json(problems), indent=2, ensure_ascii=False))
    elif problems:
        click.echo(render_problems(problems))
    else:
        click.echo(f"{run.directory}: no problems found")


def _fix(run: Run, environment: Environment, *, ask: bool) -> list[Problem]:
    repaired = repair_folder(inputs_of(run.directory), environment)
    remaining = list(repaired.remaining)
    if not repaired.files:
        if not run.as_json:
            click.echo("nothing to repair mechanically")
        _report(run, remaining)
        return remaining
    if not run.as_json:
        click.echo(render_diff(repaired))
    if ask and run.as_json:
        raise UserError("--output json cannot ask", hint="add --yes, or leave --output json out")
    if ask and not _confirmed():
        raise UserError("nothing was changed", hint="run again and answer y, or add --yes")
    _refuse_if_changed(run.directory, repaired)
    backups = _write(run.directory, repaired)
    log.note("repaired %s; backups %s", ", ".join(repaired.after), ", ".join(backups))
    if run.as_json:
        body = {
            "repaired": [name for name, data in repaired.files.items() if data is not None],
            "backups": backups,
        }
        click.echo(json.dumps({**body, **problems_json(remaining)}, indent=2, ensure_ascii=False))
    else:
        click.echo(f"repaired; the files as they were: {', '.join(backups)}")
        if remaining:
            click.echo("\nWhat is left needs you:\n")
        _report(run, remaining)
    return remaining


def _confirmed() -> bool:
    try:
        return click.confirm("Write these changes?", default=False, err=True)
    except click.Abort:
        if sys.stdin is not None and sys.stdin.isatty():
            raise
        return False  # There is nobody to ask.


def _refuse_if_changed(directory: Path, repaired: Repaired) -> None:
    """An editor may have saved a file while the question stood open."""
    for name, before in repaired.before.items():
        path = directory / repaired.moved.get(name, name)
        now, _ = read_text(Directory(directory), str(path.relative_to(directory)))
        if now is None or now.text != before.text:
            raise UserError(
                f"{path} was changed meanwhile; nothing was written", hint="run the command again"
            )


def _write(directory: Path, repaired: Repaired) -> list[str]:
    """Backups first, then the new files, then the old names go away."""
    backups = [back_up(directory / name) for name in repaired.files if (directory / name).exists()]
    for name, data in repaired.files.items():
        if data is not None:
            path = directory / name
            mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
            save_file(path, data, mode=mode)
    for name in repaired.moved.values():
        remove_file(directory / name)
    return [str(path.relative_to(directory)) for path in backups]
