# SPDX-License-Identifier: Apache-2.0
"""`muster host console`: the console of this host, on the terminal that it is started on."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from muster.cli import options
from muster.cli.loop import run_async

if TYPE_CHECKING:
    from muster.console.looking import Course


@click.command(epilog=options.examples("muster host console", "muster host console --plain"))
@click.option("--plain", is_flag=True, help="Only text, a picture after the other; no keys, but words.")
@options.log_level
def console(plain: bool, log_level: str | None) -> None:
    """Show what this host is and does, what fails and why, and how far all hosts are; act by keys.

    It never ends by itself but for a shell, which takes its place. What goes wrong with it is in the journal.
    """
    from muster.console.journal import log_to_journal
    from muster.console.running import SHELL, Terminal, run_console
    from muster.console.shell import SHELL_ARGV
    from muster.run import become

    options.begin_without_site(log_level)
    log_to_journal(logging.getLogger("muster"))
    tty = os.ttyname(0) if os.isatty(0) else ""
    terminal = Terminal(tty, os.environ, sys.stdout, is_plain=plain, keys=0 if tty else None)
    if run_async(lambda: run_console(terminal, lambda: _find_course(Path("/")))) == SHELL:
        become(SHELL_ARGV)


def _find_course(root: Path) -> Course | None:
    """Where the service is, as the medium says, and who asks there."""
    from muster.agent.inventory.reading import read_text
    from muster.cli.host_place import TokenFile, load_place
    from muster.console.looking import Course
    from muster.errors import MusterError
    from muster.model.meeting import ENVIRONMENT, GENERIC_MARK, parse_meeting

    meeting = parse_meeting(read_text(root / ENVIRONMENT.lstrip("/")))
    try:
        place = load_place(root)
    except MusterError:
        return None
    if meeting is None:
        return None
    made_later = (root / GENERIC_MARK.lstrip("/")).exists()
    return Course(place.target(TokenFile().load()), meeting.cluster_id, made_later)
