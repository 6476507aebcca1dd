# SPDX-License-Identifier: Apache-2.0
"""`muster store gc` and `sign`: what changes a store without bringing anything in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from muster.cli import options
from muster.cli.store import load_private, place, plural, sign_key
from muster.errors import UserError
from muster.release.store.collect import Collected, collect_garbage
from muster.release.store.store import open_store
from muster.units import render_size


@click.command(
    epilog=options.examples(
        "muster store gc /srv/images --dry-run",
        "muster store gc /srv/images --forget registry.example.com/app/web:v1",
    )
)
@place
@click.option("--forget", metavar="NAME", multiple=True, help="Take this name away first; may be repeated.")
@click.option("--dry-run", is_flag=True, help="Only tell what would go.")
@sign_key
@options.output
def gc(place: Path, output_format: str, **how: Any) -> None:
    """Remove what no image needs: blobs that no name leads to, and what interrupted transfers left.

    What other images share stays. When a manifest cannot be read nothing is removed, because what it needs
    is not known. Whoever brings images in meanwhile is waited for.
    """
    as_json = options.begin_without_site(output_format=output_format)
    store = open_store(place, key=load_private(how["key"]))
    collected = collect_garbage(store, how["forget"], dry_run=how["dry_run"])
    if as_json:
        click.echo(json.dumps(_body(place, collected, is_dry=how["dry_run"]), indent=2))
        return
    would = "would be " if how["dry_run"] else ""
    for name in collected.forgotten:
        click.echo(f"{name} {would}forgotten")
    if collected.freed_bytes or collected.blobs:
        what = f"{plural(len(collected.blobs), 'blob')}, {render_size(collected.freed_bytes)}"
        click.echo(f"{what} {would}removed from {place}")
    else:
        click.echo(f"nothing to remove in {place}")


def _body(place: Path, collected: Collected, *, is_dry: bool) -> dict[str, Any]:
    return {
        "path": str(place),
        "dryRun": is_dry,
        "forgotten": list(collected.forgotten),
        "removed": [{"digest": digest, "sizeBytes": size} for digest, size in collected.blobs],
        "partialBytes": collected.partial_bytes,
        "freedBytes": collected.freed_bytes,
    }


@click.command(epilog=options.examples("muster store sign /srv/images --key sign.key"))
@place
@sign_key
def sign(place: Path, key: Path | None) -> None:
    """Sign what a store holds; `muster store verify --key PUBLIC` checks it.

    The signature, index.json.sig, is over the index, from which digests lead to every byte. Whatever changes
    the store later without the key removes it.
    """
    options.begin_without_site()
    private = load_private(key)
    if private is None:
        raise UserError("there is no key to sign with", hint="name one with --key")
    open_store(place, key=private).sign()
    click.echo(f"{place} is signed")
