# SPDX-License-Identifier: Apache-2.0
"""`muster simulate`: what the installation of a site would be like, with or without trouble."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from muster.cli import options, site
from muster.errors import ExitStatus, UserError
from muster.units import parse_span

if TYPE_CHECKING:
    from muster.lab.sim.faults import Trouble

_FAULT_HELP = (
    "Something that goes wrong, as in `muster lab cut`, and more: link:HOST, power:HOST@5m..9m,"
    " duplicate-ip:HOST, vip-in-use:ADDRESS, skew:HOST=+90m, slow-disk:HOST=1MB/s, lost:HOST=STAGE, …"
    " May be given several times."
)


@click.command(
    epilog=options.examples(
        "muster simulate mysite",
        "muster simulate mysite --fault vip-in-use:192.0.2.5",
        "muster simulate mysite --fault power:master-1@5m..9m --seed 7",
        "muster simulate mysite --hosts 500",
        "muster simulate mysite --output json | jq .blockers",
    )
)
@click.argument("directory", metavar="SITE", default=".")
@click.option("--fault", "faults", metavar="FAULT", multiple=True, help=_FAULT_HELP)
@click.option("--seed", default=0, show_default=True, help="Decides everything that is left to chance.")
@click.option("--hosts", metavar="N", type=click.IntRange(1, 2000), help="So many hosts: workers are added.")
@click.option("--until", metavar="TIME", default="25h", show_default=True, help="How long to go on: 90m, 2h.")
@options.log_level
@options.output
def simulate(
    directory: str,
    log_level: str | None,
    output_format: str,
    *,
    faults: tuple[str, ...],
    seed: int,
    hosts: int | None,
    until: str,
) -> ExitStatus:
    """Play the installation of a site in a few seconds, without a machine.

    The real service installs modelled hosts, which are built from the site's files: their cards, networks,
    disks and names, on a clock that jumps from one event to the next. It shows what happens when, what
    would stand in the way and where in the files that comes from, what the end has to wait for, and how
    long it takes.

    The same files, faults and seed give the same run. Exit status: 0 when the cluster is installed, 1 when
    it is not, 3 when the files do not hold.
    """
    run = options.begin(directory, log_level, output_format)
    found, plan = site.load_cluster(run)
    from muster.lab.sim.simulation import Simulation, Wanted, course_of
    from muster.lab.sim.telling import as_json, render, tell

    troubles = tuple(_read_trouble(text) for text in faults)
    wanted = Wanted(seed, hosts or 0, troubles, parse_span(until).total_seconds())
    simulation = Simulation(course_of(found, plan, wanted))
    simulation.run()
    told = tell(simulation, found, plan)
    click.echo(json.dumps(as_json(told), indent=2, ensure_ascii=False) if run.as_json else render(told))
    return ExitStatus.OK if told.outcome == "installed" else ExitStatus.FAILED


def _read_trouble(text: str) -> Trouble:
    from muster.lab.sim.faults import parse_trouble
    from muster.model.fault import BadFault

    try:
        return parse_trouble(text)
    except BadFault as error:
        raise UserError(f"{text!r} is no fault", hint=str(error)) from error
