# SPDX-License-Identifier: Apache-2.0
"""`muster release build`: upstream Kubernetes, from its sources to images in a store."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from muster.cli import log, options
from muster.cli.pace import Pace
from muster.cli.release_place import GO_NAMES, find_cache, host_architecture, store_option, store_place
from muster.errors import MusterError, UserError
from muster.frozen import dataclass
from muster.release.build.golang import find_go
from muster.release.build.layers import zstd_version
from muster.release.build.make import Means, Step, make_release
from muster.release.build.plan import make_plan
from muster.release.build.reading import find_add_ons, load_recipe
from muster.release.build.recipe import ARCHITECTURES, find_home
from muster.release.build.whole import Whole
from muster.release.look import add_ons_of
from muster.release.model import total_size
from muster.release.store.store import LAYOUT, create_store, open_store
from muster.run import run
from muster.units import render_clock, render_size


@click.command(
    epilog=options.examples(
        "muster release build",
        "muster release build --add-on all",
        "muster release build --add-on metrics-server --arch arm64 --store ~/release",
        "DIGEST=$(muster release build --output json | jq -r .digest)",
    )
)
@store_option
@click.option(
    "--arch",
    "architecture",
    metavar="ARCH",
    help="For which machines: amd64 or arm64.  [default: those of this kind]",
)
@click.option(
    "--add-on",
    "add_ons",
    metavar="NAME",
    multiple=True,
    help="An add-on that comes along, `all` or `none`; may be given several times.  [default: what the"
    " release in the store has]",
)
@click.option(
    "--jobs",
    "-j",
    metavar="N",
    type=click.IntRange(min=1),
    help="How many processors to use.  [default: all]",
)
@options.cache_dir
@options.log_level
@options.output
def build(cache_dir: str | None, log_level: str | None, output_format: str, **flags: Any) -> None:
    """Build Kubernetes, etcd, CoreDNS and add-ons from Go's modules; what is built already is used.

    Every source is pinned by its hash, and the same sources give the same digests on every machine with the
    same version of Go. The result is images in a content store, and one that lists them all with versions,
    sources, licences and a bill of materials. The first build takes some minutes and 10 GB in the cache; one
    that was interrupted goes on with what is there. Needs Go and a Go module proxy.
    """
    as_json = options.begin_without_site(log_level, output_format)
    began = time.monotonic()
    place = store_place(flags["store_dir"], cache_dir)
    wish = Wish(_architecture(flags["architecture"]), flags["add_ons"], flags["jobs"])
    whole = build_release(find_cache(cache_dir), place, wish)
    click.echo(json.dumps(_body(whole, place), indent=2) if as_json else "\n".join(_lines(whole, place)))
    if not flags["add_ons"]:
        log.note("add-ons that can come along: %s", ", ".join(find_add_ons(find_home())))
    log.note("release in %s", render_clock(time.monotonic() - began))


@dataclass(frozen=True)
class Wish:
    """What is to be built."""

    architecture: str
    add_ons: tuple[str, ...] = ()
    """Nothing for what the release in the store has, `none` for none."""
    jobs: int | None = None


def build_release(cache_root: Path, place: Path, wish: Wish) -> Whole:
    """A release in the store at a place; progress is shown while it is made."""
    recipe = load_recipe(find_home(), _choose_add_ons(place, wish))
    go = find_go(recipe.go, cache_root, run)
    if wish.jobs:
        go = replace(go, jobs=wish.jobs)
    plan = make_plan(recipe, wish.architecture, go.version, zstd_version())
    store = create_store(place)
    with _steps() as (expect, begin):
        return make_release(plan, Means(cache_root, go, store, tell=log.say, expect=expect, began=begin))


def _choose_add_ons(place: Path, wish: Wish) -> tuple[str, ...]:
    """Who builds again loses nothing: without a word about them, the add-ons stay."""
    if wish.add_ons or not (place / LAYOUT).exists():
        return wish.add_ons
    home = find_home()
    try:
        there = add_ons_of(open_store(place), load_recipe(home).release_name(wish.architecture))
    except MusterError as error:
        log.warn("%s; so it is not known which add-ons the release had: --add-on names them", error.message)
        return ()
    kept = tuple(id for id in there if id in find_add_ons(home))
    if kept:
        log.say("with the add-ons that the release has: %s; --add-on none leaves them out", ", ".join(kept))
    return kept


def _architecture(given: str | None) -> str:
    name = GO_NAMES.get(given, given) if given else host_architecture()
    if name not in ARCHITECTURES:
        raise UserError(
            f"there are no releases for machines of kind {name}",
            hint=f"choose one with --arch: {', '.join(ARCHITECTURES)}",
        )
    return name


@contextmanager
def _steps() -> Iterator[tuple[Callable[[tuple[Step, ...]], None], Callable[[Step], None]]]:
    """A bar for all that is missing, which is known only when somebody looked."""
    ends: dict[Step, int] = {}
    paces: list[Pace] = []

    def expect(steps: tuple[Step, ...]) -> None:
        total = 0
        for step in steps:
            total += step.seconds
            ends[step] = total
        if steps:
            paces.append(stack.enter_context(Pace("building the release", total)))

    def begin(step: Step) -> None:
        end = ends.get(step, 0)
        for pace in paces:
            pace.go(end - step.seconds, end)
        log.say("%s", step.what)

    with ExitStack() as stack:
        yield expect, begin


def _body(whole: Whole, place: Path) -> dict[str, Any]:
    release = whole.release
    return {
        "name": release.tagged,
        "digest": whole.own.manifest.digest,
        "store": str(place.absolute()),
        "images": {image.id: image.pullspec for image in release.images},
        "addOns": [add_on.id for add_on in release.add_ons],
    }


def _lines(whole: Whole, place: Path) -> Iterator[str]:
    release = whole.release
    yield f"release  {release.tagged}"
    yield f"digest   {whole.own.manifest.digest}"
    yield f"images   {len(release.images)}, {render_size(total_size(release.images))}"
    if release.add_ons:
        yield f"add-ons  {', '.join(add_on.id for add_on in release.add_ons)}"
    yield f"store    {os.fspath(place)}"
