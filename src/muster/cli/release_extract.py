# SPDX-License-Identifier: Apache-2.0
"""`muster release extract`: one file out of an image, without the image."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from muster.cli import log, options, progress
from muster.cli.access import AccessFlags, access_options, settings_of
from muster.cli.loop import run_async
from muster.cli.release_place import host_architecture
from muster.errors import MusterError, UserError, cannot
from muster.frozen import dataclass
from muster.units import render_size

if TYPE_CHECKING:
    from muster.release.mirror.sides import Origin


@dataclass(frozen=True)
class _Wish:
    """Which file, and where it shall be."""

    image: str
    path: str
    to: Path
    sha256: str
    store: Path | None


@click.command(
    epilog=options.examples(
        "muster release extract muster.local/kubernetes/kube@sha256:6b1f... --path /usr/bin/kube --to kube",
        "muster release extract registry.example.com/kubernetes/kube:v1.36.3 --path usr/bin/kube --to k \\",
        "    --ca-bundle registry.crt --pull-secret pull-secret.json",
    )
)
@click.argument("image")
@click.option("--path", required=True, help="The file in the image.")
@click.option(
    "--to", metavar="FILE", required=True, type=click.Path(path_type=Path), help="Where it is written to."
)
@click.option(
    "--sha256",
    metavar="HEX",
    default="",
    help="What the file hashes to; if it is there already, all is done.",
)
@click.option(
    "--store",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="A content store that is looked into first; its registry is asked only for what it has not.",
)
@access_options
@options.log_level
@options.output
def extract(access: AccessFlags, log_level: str | None, output_format: str, **flags: Any) -> None:
    """Write one file of IMAGE, which is read from its registry, or from the first mirror that has it.

    Nothing else of the image is kept. The file gets its name when all of it is there and right; it may be run
    if it may be in the image. An image that is named by digest is that image, whoever sent it.
    """
    as_json = options.begin_without_site(log_level, output_format)
    wish = _Wish(**flags)
    _check(wish)
    is_there = bool(wish.sha256) and _hash(wish.to) == wish.sha256
    if not is_there:
        run_async(lambda: _extract(wish, access))
    if as_json:
        click.echo(json.dumps({"file": str(wish.to), "sha256": _hash(wish.to), "extracted": not is_there}))
    elif is_there:
        click.echo(f"{wish.to} is there already")
    else:
        click.echo(f"{wish.to} written, {render_size(wish.to.stat().st_size)}")


def _check(wish: _Wish) -> None:
    digits = {*"0123456789abcdef"}
    if wish.sha256 and (len(wish.sha256) != 64 or not {*wish.sha256} <= digits):
        raise UserError(
            f"--sha256 {wish.sha256[:80]!r} is no hash", hint="it has 64 hexadecimal digits in lower case"
        )


def _hash(path: Path) -> str:
    """What a file hashes to; nothing when it is not there."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return ""
    except OSError as error:
        raise cannot("read", path, error) from error


async def _extract(wish: _Wish, access: AccessFlags) -> None:
    from muster.release.mirror.sides import FromRegistry
    from muster.release.oci.client import open_client

    if wish.store is not None and await _find_stored(wish, wish.store):
        return
    async with open_client(settings_of(access)) as client:
        await _take(wish, FromRegistry(client))


async def _find_stored(wish: _Wish, store: Path) -> bool:
    """Whether a store has what is wanted, as it should be."""
    from muster.release.mirror.sides import FromStore
    from muster.release.store.store import open_store

    try:
        await _take(wish, FromStore(open_store(store)))
    except MusterError as error:
        log.warn("%s; its registry is asked instead", error.message)
        return False
    log.say("%s was taken from %s", wish.image, store)
    return True


async def _take(wish: _Wish, origin: Origin) -> None:
    from muster.release.layers import Pick, extract
    from muster.release.oci.reference import parse_reference

    source = await origin.source(parse_reference(wish.image))
    pick = Pick(wish.path, wish.to, sha256=wish.sha256)
    await extract(source, pick, architecture=host_architecture(), progress=progress)
