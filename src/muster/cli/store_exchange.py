# SPDX-License-Identifier: Apache-2.0
"""`muster store import` and `export`: images from and to others."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from muster.cli import log, options, progress
from muster.cli.store import images, load_private, place, plural, sign_key
from muster.errors import ExitStatus, UserError, cannot
from muster.redact import printable
from muster.release.oci.manifest import Descriptor
from muster.release.store.exchange.bring import Brought, bring_images
from muster.release.store.exchange.layout import Layout
from muster.release.store.exchange.names import choose_names, settle_names
from muster.release.store.exchange.opening import NOWHERE, open_source
from muster.release.store.exchange.save import new_file, save_archive
from muster.release.store.exchange.source import Found, narrow
from muster.release.store.exchange.tree import Folder
from muster.release.store.store import Store, create_store, open_store
from muster.units import render_size

_STREAM: Final = Path("-")
_COMPRESSED: Final = (".gz", ".tgz", ".xz", ".zst", ".bz2")


@click.command(
    "import",
    epilog=options.examples(
        "muster store import /srv/images saved.tar",
        "docker save app:1 | muster store import /srv/images - --as registry.example.com/app:1",
        "muster store import /srv/images /var/lib/registry 'openshift/*' --registry r.example.com:5000",
    ),
)
@place
@click.argument("source", type=click.Path(path_type=Path))
@images
@click.option(
    "--as", "given", metavar="NAME", default="", help="What to call an image that has no whole name."
)
@click.option(
    "--registry", metavar="HOST", default=NOWHERE, show_default=True,
    help="Where the images of a registry's storage are from; it does not say.",
)  # fmt: skip
@click.option("--architecture", metavar="ARCH", help="Of an image for several, take this one only: amd64.")
@sign_key
@options.log_level
@options.output
def import_(place: Path, source: Path, log_level: str | None, output_format: str, **how: Any) -> ExitStatus:
    """Bring images into a store, which is made when it is not there.

    SOURCE is a store, an OCI layout (folder or tar), an archive of `docker save` or `podman save`, or the
    storage of a registry as oc-mirror and the distribution registry keep it; - is standard input. IMAGE
    chooses some by name or pattern; without it all come.

    What is here already is not copied, everything is checked on the way, and after an interruption the next
    run goes on. Exit status: 0 when all came, 1 when one did not.
    """
    as_json = options.begin_without_site(log_level, output_format)
    key = load_private(how["key"])
    path = Path("/dev/stdin") if source == _STREAM else source
    spool = place if place.is_dir() else place.absolute().parent
    with open_source(path, spool, how["registry"]) as opened:
        found = opened.images()
        if not found:
            raise UserError(f"there are no images in {source}", hint=f"it is {opened.kind}, and empty")
        chosen = _choose(found, how["images"], how["given"])
        if how["architecture"]:
            chosen = {name: narrow(opened, each, how["architecture"]) for name, each in chosen.items()}
        log.note("%s is %s", source, opened.kind)
        brought = bring_images(create_store(place, key=key), opened, chosen, progress)
    _tell(place, brought, as_json=as_json)
    return ExitStatus.FAILED if brought.failed else ExitStatus.OK


def _choose(found: tuple[Found, ...], wanted: tuple[str, ...], given: str) -> Mapping[str, Found]:
    """The images that are meant, by the names that they will have."""
    if not given or not wanted:
        return choose_names(settle_names(found, given), wanted)
    own = choose_names({each.name or each.tag or each.image.digest: each for each in found}, wanted)
    return settle_names(tuple(own.values()), given)


def _tell(place: Path, brought: Brought, *, as_json: bool) -> None:
    if as_json:
        body = {
            "path": str(place),
            "images": list(brought.images),
            "failed": [{"name": name, "reason": why} for name, why in brought.failed.items()],
            "newBlobs": brought.new_blobs,
            "newBytes": brought.new_bytes,
            "knownBytes": brought.known_bytes,
        }
        click.echo(json.dumps(body, indent=2))
        return
    for name in brought.images:
        click.echo(printable(name))
    for name, why in brought.failed.items():
        click.echo(printable(f"BAD: {name} did not come: {why}"))
    new = f"{plural(brought.new_blobs, 'new blob')}, {render_size(brought.new_bytes)}"
    known = f"{render_size(brought.known_bytes)} were there"
    click.echo(f"{plural(len(brought.images), 'image')} in {place}: {new}; {known}")


@click.command(
    epilog=options.examples(
        "muster store export /srv/images app.tar registry.example.com/app/web:v1",
        "muster store export /srv/images web.tar app/web --format docker     # for docker load",
        "muster store export /media/cdrom/store /srv/images                  # what is missing there",
    )
)
@place
@click.argument("target", type=click.Path(path_type=Path))
@images
@click.option(
    "--format", "form", type=click.Choice(["oci", "docker"]), default="oci", show_default=True,
    help="What an archive is for: skopeo and podman, or `docker load`, too.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace an archive that is there.")
@sign_key
@options.log_level
@options.output
def export(place: Path, target: Path, log_level: str | None, output_format: str, **how: Any) -> ExitStatus:
    """Copy images to another store, or into an archive.

    TARGET is an archive when its name ends with .tar, or is - for standard output; else it is the folder of
    a store, which gets what is missing there. The same images give the same archive, byte by byte. Every
    blob is checked on the way.
    """
    as_json = options.begin_without_site(log_level, output_format)
    store = open_store(place)
    chosen = choose_names(store.contents().images, how["images"])
    if not chosen:
        raise UserError(f"there are no images in {place}", hint="`muster store import` brings some in")
    if target.name.endswith(_COMPRESSED):
        raise UserError(
            "an archive is not compressed, because its layers are",
            hint="let its name end with .tar, or write it to - and send that to a program that compresses",
        )
    if target != _STREAM and target.suffix != ".tar":
        if how["form"] == "docker":
            raise UserError(f"{target} is a folder, and no archive for Docker", hint="let it end with .tar")
        return _copy(store, create_store(target, key=load_private(how["key"])), chosen, as_json=as_json)
    is_docker = how["form"] == "docker"
    if target == _STREAM:
        _stream(store, chosen, docker=is_docker)
        return ExitStatus.OK
    with new_file(target, replace=how["force"]) as write:
        size = save_archive(store, chosen, write, docker=is_docker, progress=progress)
    if as_json:
        click.echo(json.dumps({"path": str(target), "images": sorted(chosen), "sizeBytes": size}, indent=2))
    else:
        click.echo(f"{plural(len(chosen), 'image')} in {target}, {render_size(size)}")
    return ExitStatus.OK


def _copy(store: Store, target: Store, chosen: Mapping[str, Descriptor], *, as_json: bool) -> ExitStatus:
    found = {name: Found(image, name) for name, image in chosen.items()}
    brought = bring_images(target, Layout(Folder(store.root)), found, progress)
    _tell(target.root, brought, as_json=as_json)
    return ExitStatus.FAILED if brought.failed else ExitStatus.OK


def _stream(store: Store, chosen: Mapping[str, Descriptor], *, docker: bool) -> None:
    """Write an archive to standard output."""
    if os.isatty(sys.stdout.fileno()):
        raise UserError(
            "an archive is nothing to look at", hint="send standard output to a file or a program"
        )

    def write(data: bytes | memoryview) -> None:
        left = memoryview(data)
        while left:
            left = left[os.write(sys.stdout.fileno(), left) :]

    try:
        save_archive(store, chosen, write, docker=docker, progress=progress)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise cannot("write", Path("/dev/stdout"), error) from error
