# SPDX-License-Identifier: Apache-2.0
"""`muster image-based create config-images`: ISOs of many sites, from a template and a table."""

from __future__ import annotations

import ctypes
import json
import os
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Final

import click

from muster.cli import log, options, progress, site
from muster.cli.config_iso import CONFIG_FILES, CONFIG_HINT
from muster.cli.options import Run
from muster.config.check import is_valid
from muster.config.fleet.fault import Fault, RowError, render_faults
from muster.config.fleet.table import Table, load_table
from muster.config.fleet.template import Template, load_template
from muster.config.fleet.twins import Twins, claims_of
from muster.config.fleet.weave import Loom, build_loom
from muster.config.report import problems_json, render_problems
from muster.config.state import inputs_of
from muster.errors import ConfigError, ExitStatus, ExternalError, UserError
from muster.files import lock_folder
from muster.folders import make_folder, remove_parts
from muster.image.image_based.fleet import Fleet, Outcome, Status
from muster.image.manner import Manner

_CHUNK: Final = 16
_SHOWN: Final = 20
_DIE_WITH_PARENT: Final = 1
"""PR_SET_PDEATHSIG of prctl(2)."""


@click.command(
    "config-images",
    epilog=options.examples(
        "muster image-based create config-images --dir template --sites sites.csv",
        "muster image-based create config-images --dir template --sites sites.yaml --out media --jobs 4",
    ),
)
@options.site_options
@click.option(
    "--sites", "table_path", required=True, metavar="FILE", type=click.Path(path_type=Path),
    help="Table with a row per site: CSV with a header, or a YAML list of mappings.",
)  # fmt: skip
@click.option(
    "--out", metavar="DIR", type=click.Path(path_type=Path),
    help="Where the folders of the sites go.  [default: the directory sites/ beside the table]",
)  # fmt: skip
@click.option("--jobs", "-j", type=click.IntRange(1, 512), help="Processes.  [default: one per CPU]")
@click.option(
    "--allow-same-addresses",
    is_flag=True,
    help="Sites have networks of their own: the same IP may occur twice.",
)
@click.option("--force", is_flag=True, help="Replace files that are not ours (a backup is kept).")
def config_images(
    directory: str | None, log_level: str | None, output_format: str, table_path: Path, **more: object
) -> ExitStatus:
    """Make the configuration ISOs of many sites: one template, and a table of what differs.

    The template is a site's directory whose install-config.yaml and image-based-config.yaml may say ${column}
    wherever the sites differ. A column may also be a field, like image-based-config.hostname or
    install-config.metadata.name, or one of name, baseDomain, hostname, machineNetwork, interface, mac,
    address, prefix, gateway, dns.

    Each site gets a folder with imagebasedconfig.iso, auth/ and its secrets. Every row is checked like a site
    of its own; a row that does not hold is reported with its line and stops no other. A second run makes only
    what changed. Exit status: 0 when all sites were made, 3 when some were not.
    """
    run = options.begin(directory, log_level, output_format)
    out, jobs, same = more["out"], more["jobs"], bool(more["allow_same_addresses"])
    template = _load_template(run)
    table = load_table(table_path)
    loom = build_loom(template, table.columns, f"{table.name}:1")
    table.hide(loom.hidden)
    _stop_if(run, [*table.faults, *loom.faults])
    if not len(table):
        raise UserError(f"{table.name} has no rows", hint="add a line for each site")
    _stop_if(run, _find_twins(loom, table, same_addresses=same))
    place = out if isinstance(out, Path) else table_path.parent / "sites"
    fleet = Fleet(table, loom, place, Manner(force=bool(more["force"])))
    report = Report(run, len(table))
    make_folder(place)
    with lock_folder(place), progress.bar("making sites", total=len(table), unit="sites") as advance:
        remove_parts(place)
        for outcomes in _make_all(fleet, jobs if isinstance(jobs, int) else len(os.sched_getaffinity(0))):
            report.add(outcomes)
            advance(len(outcomes))
    return report.finish(place)


def _load_template(run: Run) -> Template:
    site.require_files(run, CONFIG_FILES, CONFIG_HINT)
    template, problems = load_template(inputs_of(run.directory), site.environment())
    log.note_problems(problems)
    if problems and run.as_json and (template is None or not is_valid(problems)):
        click.echo(json.dumps(problems_json(problems), indent=2, ensure_ascii=False))
    elif problems:
        click.echo(render_problems(problems), err=True)
    if template is None or not is_valid(problems):
        raise ConfigError(
            f"{run.directory} cannot be a template",
            hint="mend what is listed above, then run the command again",
        )
    return template


def _stop_if(run: Run, faults: Sequence[Fault]) -> None:
    """Stop before anything is written when the table as a whole does not hold."""
    if not faults:
        return
    if run.as_json:
        listed = [{"where": each.where, "message": each.message, "fix": each.hint} for each in faults]
        click.echo(json.dumps({"valid": False, "problems": listed}, indent=2, ensure_ascii=False))
    else:
        click.echo(render_faults(faults), err=True)
    count = "1 problem" if len(faults) == 1 else f"{len(faults):,} problems"
    raise ConfigError(
        f"the table does not hold: {count}; nothing was written",
        hint="mend what is listed above, then run the command again",
    )


def _find_twins(loom: Loom, table: Table, *, same_addresses: bool) -> list[Fault]:
    twins = Twins(table.name, len(table), same_addresses)
    for index in range(len(table)):
        try:
            cells = table.cells(index)
            trees = loom.weave(cells)
        except RowError:
            continue  # It is reported when its turn comes.
        twins.add(table.line(index), claims_of(trees, cells, table.name))
    return twins.faults


_fleet: list[Fleet] = []
"""What a worker works on. It is there before the worker is forked, so that nothing has to be sent or read."""


def _make_all(fleet: Fleet, jobs: int) -> Iterator[list[Outcome]]:
    """Make all sites; chunk by chunk, in no order."""
    chunks = [
        range(start, min(start + _CHUNK, len(fleet.table))) for start in range(0, len(fleet.table), _CHUNK)
    ]
    jobs = min(jobs, len(chunks))
    if jobs <= 1:
        for chunk in chunks:
            yield fleet.make(chunk)
        return
    _fleet[:] = [fleet]
    context = get_context("fork")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin_worker) as pool:
        pending: set[Future[list[Outcome]]] = set()
        try:
            for chunk in chunks:
                pending.add(pool.submit(_make_chunk, chunk))
                if len(pending) >= 2 * jobs:
                    done, pending = wait(pending, return_when=FIRST_COMPLETED)
                    yield from (each.result() for each in done)
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                yield from (each.result() for each in done)
        except BrokenProcessPool as error:
            raise ExternalError(
                "a worker was ended from outside, maybe because memory ran out",
                hint="run the command again, with fewer --jobs; what was made stays",
            ) from error
        finally:
            # Whoever stops us waits until the sites that were begun are whole.
            pool.shutdown(wait=True, cancel_futures=True)


def _begin_worker() -> None:
    """A worker ends its chunk whatever the user does, and does not outlive the one that it works for."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)


def _make_chunk(chunk: range) -> list[Outcome]:
    return _fleet[0].make(chunk)


@dataclass
class Report:
    """What became of the rows."""

    run: Run
    total: int
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[Outcome] = field(default_factory=list)
    warnings: dict[str, tuple[int, str]] = field(default_factory=dict)

    def add(self, outcomes: Sequence[Outcome]) -> None:
        """Count, and keep what has to be told."""
        for each in outcomes:
            self.counts[each.status] += 1
            if each.status is Status.FAILED:
                self.failures.append(each)
                log.note("%s:%d failed: %s", each.name, each.line, each.text)
            for rule, text in each.warnings:
                count, first = self.warnings.get(rule, (0, text))
                self.warnings[rule] = (count + 1, first)

    def finish(self, out: Path) -> ExitStatus:
        """The summary."""
        self.failures.sort(key=lambda each: each.line)
        log.note("sites: %s", dict(self.counts))
        if self.run.as_json:
            click.echo(json.dumps(self._json(out), indent=2, ensure_ascii=False))
        else:
            self._tell(out)
        return ExitStatus.INVALID_CONFIG if self.failures else ExitStatus.OK

    def _tell(self, out: Path) -> None:
        for count, first in self.warnings.values():
            more = f"\n      (and {count - 1:,} more sites)" if count > 1 else ""
            click.echo(f"{first}{more}\n", err=True)
        for each in self.failures[:_SHOWN]:
            name = f" ({each.name})" if each.name else ""
            click.echo(f"line {each.line}{name} was not made:\n{each.text}\n", err=True)
        if len(self.failures) > _SHOWN:
            click.echo(f"... and {len(self.failures) - _SHOWN:,} more; --output json lists all\n", err=True)
        parts = [f"{self.counts[status]:,} {status}" for status in Status if self.counts[status]]
        click.echo(f"{self.total:,} sites in {out}: {', '.join(parts)}")

    def _json(self, out: Path) -> dict[str, object]:
        return {
            "sites": self.total,
            "out": str(out),
            **{str(status): self.counts[status] for status in Status},
            "failures": [
                {"line": each.line, "name": each.name, "problems": list(each.problems)}
                for each in self.failures
            ],
            "warnings": [
                {"id": rule, "sites": count, "first": text}
                for rule, (count, text) in sorted(self.warnings.items())
            ],
        }
