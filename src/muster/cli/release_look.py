# SPDX-License-Identifier: Apache-2.0
"""`muster release info`, `verify` and `diff`: what releases hold, and whether it is there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from muster.cli import options, progress
from muster.cli.release_place import Chosen, choose, store_option
from muster.errors import ExitStatus
from muster.release.difference import Change, Difference, compare
from muster.release.look import Flaw, closure, find_flaws
from muster.release.model import AddOn, Release, total_size
from muster.release.oci.digest import Digest
from muster.release.text import render_release
from muster.units import render_size

_source = click.argument("source", metavar="[NAME|STORE]", required=False)


@click.command(
    epilog=options.examples(
        "muster release info",
        "muster release info v1.36.3-arm64 --store ~/release",
        "muster release info --output json | jq -r '.images[].image'",
    )
)
@_source
@store_option
@options.cache_dir
@options.output
def info(source: str | None, store_dir: Path | None, cache_dir: str | None, output_format: str) -> None:
    """Show what a release holds: its components and images with sizes, and its add-ons.

    A release is named by its name, its tag or its version; a store with one release needs no name.
    """
    as_json = options.begin_without_site(output_format=output_format)
    chosen = choose(source, store_dir, cache_dir)
    if as_json:
        body = json.loads(render_release(chosen.release))
        head = {"digest": chosen.found.image.digest, "store": str(chosen.store.root)}
        click.echo(json.dumps({**head, **body}, indent=2, ensure_ascii=False))
        return
    click.echo("\n".join(_info(chosen)))


def _info(chosen: Chosen) -> Iterator[str]:
    release = chosen.release
    yield f"{release.kind} {release.version} for {release.os}/{release.architecture}"
    yield f"  name       {chosen.found.name}"
    yield f"  digest     {chosen.found.image.digest}"
    yield f"  made with  Muster {release.muster}, {release.go}, zstd {release.zstd}"
    yield f"  store      {chosen.store.root}, {render_size(_unique(chosen))}"
    yield ""
    rows = [("COMPONENT", "VERSION", "SIZE", "LICENCE", "SOURCE")]
    for each in release.components:
        rows.append(
            (each.id, each.version, render_size(each.size_bytes), each.licence, each.source or "Muster")
        )
    yield from _table(rows)
    yield ""
    rows = [("IMAGE", "TAG", "SIZE", "DIGEST", "DESCRIPTION")]
    for image in release.images:
        digest = image.image.digest[:19]
        rows.append((image.id, image.tag, render_size(image.size_bytes), digest, image.description))
    yield from _table(rows)
    if release.add_ons:
        yield ""
        rows = [("ADD-ON", "VERSION", "SIZE", "BUNDLE", "NAME")]
        for add_on in release.add_ons:
            size = render_size(_size(release, add_on))
            rows.append((add_on.id, add_on.version, size, add_on.bundle, add_on.name))
        yield from _table(rows)


def _size(release: Release, add_on: AddOn) -> int:
    """What the images of an add-on take."""
    return total_size(image for image in release.images if image.id in add_on.images)


def _unique(chosen: Chosen) -> int:
    """What all of a release takes, what images share counted once."""
    return sum(_blobs(chosen).values())


def _blobs(chosen: Chosen) -> dict[Digest, int]:
    parts = closure(chosen.store, chosen.release, chosen.found)
    return {part.digest: part.size_bytes for _, part in parts}


@click.command(
    epilog=options.examples(
        "muster release verify", "muster release verify --full", "muster release verify ~/release"
    )
)
@_source
@store_option
@click.option("--full", is_flag=True, help="Read every byte, not only sizes.")
@options.cache_dir
@options.log_level
@options.output
def verify(
    source: str | None, cache_dir: str | None, log_level: str | None, output_format: str, **flags: Any
) -> ExitStatus:
    """Check that all images of a release, and all that they consist of, are in the store.

    Exit status: 0 when all is there and right, 1 when something is not.
    """
    as_json = options.begin_without_site(log_level, output_format)
    chosen = choose(source, flags["store_dir"], cache_dir)
    release, found = chosen.release, chosen.found
    label = "verifying the release" if flags["full"] else "looking at the release"
    with progress.bar(label, total=found.image.size_bytes + total_size(release.images)) as advance:
        flaws = find_flaws(chosen.store, release, found, full=flags["full"], advance=advance)
    if as_json:
        body = {
            "name": found.name,
            "digest": found.image.digest,
            "store": str(chosen.store.root),
            "full": flags["full"],
            "flaws": [_flaw(flaw) for flaw in flaws],
        }
        click.echo(json.dumps(body, indent=2))
    else:
        for flaw in flaws:
            click.echo(f"{flaw.what}; needed by {', '.join(flaw.needed_by)}")
        how = "every byte is right" if flags["full"] else "all sizes are right"
        verdict = f"{len(flaws)} wrong" if flaws else how
        click.echo(f"{found.name}: {len(release.images)} images, {verdict}")
    return ExitStatus.FAILED if flaws else ExitStatus.OK


def _flaw(flaw: Flaw) -> dict[str, Any]:
    return {"digest": flaw.digest, "what": flaw.what, "neededBy": list(flaw.needed_by)}


@click.command(
    epilog=options.examples(
        "muster release diff v1.36.2-amd64 v1.36.3-amd64", "muster release diff /media/old/release ~/release"
    )
)
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@store_option
@options.cache_dir
@options.output
def diff(before: str, after: str, store_dir: Path | None, cache_dir: str | None, output_format: str) -> None:
    """Show what differs between two releases, and how many bytes of the second are new.

    Each is the name of a release, or the folder of a store that holds one.
    """
    as_json = options.begin_without_site(output_format=output_format)
    old, new = (choose(each, store_dir, cache_dir) for each in (before, after))
    found = compare(old.release, new.release, _blobs(old), _blobs(new))
    if as_json:
        body = {
            "before": old.found.name,
            "after": new.found.name,
            "components": [_change(change) for change in found.components],
            "images": [_change(change) for change in found.images],
            "addOns": [_change(change) for change in found.add_ons],
            "newBytes": found.new_bytes,
            "totalBytes": found.total_bytes,
        }
        click.echo(json.dumps(body, indent=2))
        return
    click.echo("\n".join(_difference(found)))


def _change(change: Change) -> dict[str, Any]:
    return {
        "id": change.id,
        "before": change.before or None,
        "after": change.after or None,
        "rebuilt": change.is_rebuilt,
    }


def _difference(found: Difference) -> Iterator[str]:
    for what, changes in (("component", found.components), ("add-on", found.add_ons)):
        for change in changes:
            yield f"{_verb(change):<8} {what} {change.id}  {_versions(change)}"
    for change in found.images:
        yield f"{_verb(change):<8} image {change.id}"
    if not (found.components or found.add_ons or found.images):
        yield "both hold the same"
    yield f"new: {render_size(found.new_bytes)} of {render_size(found.total_bytes)}"


def _verb(change: Change) -> str:
    if not change.before:
        return "added"
    return "changed" if change.after else "removed"


def _versions(change: Change) -> str:
    if change.is_rebuilt:
        return f"{change.after}, built anew"
    return " -> ".join(version for version in (change.before, change.after) if version)


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield "  ".join([*cells, row[-1]]).rstrip()
