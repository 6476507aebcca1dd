# SPDX-License-Identifier: Apache-2.0
"""`muster lab ...`: rehearse a site on virtual machines."""

from __future__ import annotations

from typing import Final

import click

from muster.cli import options
from muster.cli.lazy import LazyGroup

_VERBS: Final = {
    "up": ("lab_up:up", "Boot one virtual machine for each host of a site."),
    "run": ("lab_run:run_", "Boot a site, wait until something is so, tell how it went, and end."),
    "wait": ("lab_run:wait_", "Wait until something is so in a lab that is up."),
    "status": ("lab_look:status", "Show what the machines are doing."),
    "list": ("lab_look:list_", "List the labs on this machine."),
    "logs": ("lab_look:logs", "Print what a machine said on its serial line."),
    "console": ("lab_reach:console", "Sit at the serial console of a machine."),
    "ssh": ("lab_reach:ssh", "Log in to a machine, or run a command there."),
    "exec": ("lab_reach:exec_", "Run a command of this machine in the lab's networks."),
    "screenshot": ("lab_look:screenshot", "Take a picture of a machine's screen."),
    "power": ("lab_change:power", "Switch a machine on or off, reset it, or press its button."),
    "kill": ("lab_change:kill", "Cut the power of a machine."),
    "media": ("lab_change:media", "Insert an image into a machine's drive, or eject it."),
    "cut": ("lab_change:cut", "Break something: links, packets, power, media, clocks, disks."),
    "heal": ("lab_change:heal", "Mend what was broken."),
    "down": ("lab_change:down", "End a lab and remove all of it."),
}


@click.group(
    cls=LazyGroup,
    verbs=_VERBS,
    epilog=options.examples(
        "muster lab up mysite",
        "muster lab status",
        "muster lab cut link:master-1/eno1",
        "muster lab down",
    ),
)
def lab() -> None:
    """Rehearse a site on virtual machines, before you drive to it.

    A lab has one machine for each host of a site, with exactly its MAC addresses, disks that its hints
    match, and its networks, all in a network namespace that the lab makes and removes. Machines, networks
    and faults can be described in lab.yaml beside the site's other files (`muster explain lab`). A lab goes
    on when the command ends, or crashes; `muster lab down` always cleans up.
    """
