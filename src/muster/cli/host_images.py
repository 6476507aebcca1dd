# SPDX-License-Identifier: Apache-2.0
"""`muster host images`: containerd gets the images that the installer copied to the disk."""

from __future__ import annotations

import click

from muster.cli import log, options
from muster.cli.loop import run_async


@click.command(epilog=options.examples("muster host images", "journalctl -u muster-images.service"))
@options.log_level
def images(log_level: str | None) -> None:
    """Give containerd the images that the installer copied to the disk of this host, and remove them there.

    What is missing or damaged is told: registries are asked for it, when it is needed.
    """
    options.begin_without_site(log_level)
    run_async(_run)


async def _run() -> None:
    from muster.machine import ThisMachine
    from muster.node.importing import take_in

    await take_in(ThisMachine(), lambda sentence: log.say("%s", sentence))
