# SPDX-License-Identifier: Apache-2.0
"""`muster os build`: the machine OS, live ISO and disk image."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import click

from muster.cli import log, options, progress
from muster.cli.pace import Pace
from muster.debian.packages import Fetched, open_shelf
from muster.errors import cannot
from muster.files import part_of
from muster.folders import make_folder
from muster.image.cache.places import find_cache_root
from muster.machine_os.make import Means, make_machine_os
from muster.machine_os.parts import find_parts
from muster.machine_os.recipe import find_home, load_recipe
from muster.machine_os.steps import ROOT, STEPS, Step
from muster.run import run
from muster.toolbox import open_toolbox
from muster.units import render_clock, render_size

_ALL: Final = (ROOT, *STEPS)


@click.group("os", epilog=options.examples("muster os build", "muster os build --to ~/images"))
def machine_os() -> None:
    """Build the machine OS: a small live ISO that Muster's own clusters run on, and the lab boots."""


@machine_os.command(
    epilog=options.examples(
        "muster os build",
        "muster os build --to ~/images                       # copies of the ISO and the disk image",
        "muster os build --hardware full                     # drivers and firmware of all servers",
        "ISO=$(muster os build --output json | jq -r .iso)",
    )
)
@click.option(
    "--arch",
    "architecture",
    metavar="ARCH",
    default=os.uname().machine,
    show_default=True,
    help="Kind of machine: x86_64 or aarch64.",
)
@click.option(
    "--hardware",
    type=click.Choice(["common", "full"]),
    default="common",
    show_default=True,
    help="Virtual machines and common servers, or all drivers and firmware.",
)
@click.option(
    "--to", "target", metavar="DIR", type=click.Path(path_type=Path), help="Copy the results there."
)
@click.option(
    "--coreos-installer",
    "installer",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder of a coreos-installer (bin/, systemd/, scripts/).  [default: what bin/setup built]",
)
@options.cache_dir
@options.log_level
@options.output
def build(cache_dir: str | None, log_level: str | None, output_format: str, **flags: Any) -> None:
    """Build live ISO and disk image from Debian's packages; what is built already is used.

    The same packages give the same bytes. The result is kept in the cache and named by what it is made of;
    its manifest lists every package with version and hash. The first build takes some minutes, and one that
    was interrupted goes on with what is there. Needs root, apt and mmdebstrap (Debian or Ubuntu).
    """
    as_json = options.begin_without_site(log_level, output_format)
    began = time.monotonic()
    folder = build_machine_os(cache_dir, flags["architecture"], flags["hardware"], flags["installer"])
    if flags["target"] is not None:
        folder = _copy(folder, flags["target"])
    if as_json:
        body = {
            "iso": str(folder / "live.iso"),
            "disk": str(folder / "metal.raw"),
            "manifest": str(folder / "manifest.json"),
        }
        click.echo(json.dumps(body, indent=2))
        return
    for name, what in (("live.iso", "live ISO"), ("metal.raw", "disk image"), ("manifest.json", "manifest")):
        click.echo(f"{what:<11} {folder / name}  {render_size((folder / name).stat().st_size)}")
    log.note("machine OS in %s", render_clock(time.monotonic() - began))


def build_machine_os(
    cache_dir: str | None, architecture: str, hardware: str = "common", installer: Path | None = None
) -> Path:
    """The folder of a finished build; progress is shown while it is made."""
    root = find_cache_root(cache_dir, os.environ, Path.home)
    recipe = load_recipe(find_home(), architecture, hardware)
    with _fetching() as fetched:
        toolbox = open_toolbox(root, heard=log.say, fetched=fetched)
    parts = find_parts(recipe, root, installer, run=run)
    with _fetching() as fetched, _steps() as began:
        shelf = open_shelf(root, tell=log.say)
        return make_machine_os(
            recipe, parts, Means(root, toolbox, shelf, tell=log.say, fetched=fetched, began=began)
        )


@contextmanager
def _fetching() -> Iterator[Fetched]:
    """A bar for packages; it appears with the first of them."""
    with ExitStack() as stack:
        bars: list[Callable[[int], None]] = []
        seen = 0

        def fetched(done: int, total: int) -> None:
            nonlocal seen
            if not bars:
                bars.append(stack.enter_context(progress.bar("fetching packages", total=total)))
            bars[0](done - seen)
            seen = done

        yield fetched


@contextmanager
def _steps() -> Iterator[Callable[[Step], None]]:
    """A bar for all steps, each of which is known to take a while."""
    ends = dict(zip(_ALL, accumulate(step.seconds for step in _ALL), strict=True))
    with Pace("building the machine OS", ends[_ALL[-1]]) as pace:

        def began(step: Step) -> None:
            pace.go(ends[step] - step.seconds, ends[step])
            log.say("%s", step.what)

        yield began


def _copy(folder: Path, target: Path) -> Path:
    """Copies of the results, each there as a whole or not at all."""
    make_folder(target)
    for source in sorted(folder.iterdir()):
        part = part_of(target / source.name)
        try:
            shutil.copyfile(source, part)
            part.replace(target / source.name)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise cannot("write", target / source.name, error) from error
    return target
