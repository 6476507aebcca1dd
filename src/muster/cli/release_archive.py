# SPDX-License-Identifier: Apache-2.0
"""`muster release save` and `load`: a whole release in one file, to be carried where no network is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from muster.cli import options
from muster.cli.access import AccessFlags, access_options, settings_of
from muster.cli.store import load_private, sign_key
from muster.errors import ExitStatus
from muster.redact import printable
from muster.units import render_size

if TYPE_CHECKING:
    from muster.cli.archiving import Loaded


@click.command(
    epilog=options.examples(
        "muster release save ./store release.tar",
        "muster release save quay.example.com/ocp/release:4.22.0-x86_64 release.tar --force",
    )
)
@click.argument("source", metavar="SRC")
@click.argument("file", metavar="FILE.tar", type=click.Path(path_type=Path))
@click.option("--image", "images", metavar="IMAGE", multiple=True, help="A further image to save.")
@click.option(
    "--manifests", metavar="FILE", multiple=True, type=click.Path(path_type=Path),
    help="Manifests (YAML) whose images are saved, too.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@options.cache_dir
@access_options
@options.log_level
@options.output
def save(access: AccessFlags, log_level: str | None, output_format: str, **flags: Any) -> None:
    """Write the release SRC, and all images that it lists, into FILE.tar.

    SRC is what `muster release mirror` takes: a release image at a registry, or a content store. What comes
    from a registry is gathered in FILE.tar.store first, and goes on there after an interruption; that folder
    is removed when the file is written. The same images give the same bytes, and every blob is checked on the
    way. The file is an OCI archive: skopeo and podman read it, too.
    """
    from muster.cli.archiving import gathering, save_release
    from muster.cli.mirroring import Wish

    as_json = options.begin_without_site(log_level, output_format)
    file, force = flags.pop("file"), flags.pop("force")
    wish = Wish(target=str(gathering(file)), **flags)
    count, size = save_release(wish, file, settings_of(access), force=force)
    if as_json:
        click.echo(json.dumps({"file": str(file), "images": count, "sizeBytes": size}, indent=2))
    else:
        click.echo(f"{file} written: {count} images, {render_size(size)}")


@click.command(epilog=options.examples("muster release load release.tar /srv/store"))
@click.argument("file", metavar="FILE.tar", type=click.Path(path_type=Path))
@click.argument("store", metavar="STORE", type=click.Path(path_type=Path))
@sign_key
@options.log_level
@options.output
def load(file: Path, store: Path, log_level: str | None, output_format: str, **flags: Any) -> ExitStatus:
    """Bring the release in FILE.tar into the content store STORE, which is made when it is not there.

    What is there already is not copied, everything is checked on the way, and after an interruption the same
    command goes on. At the end it is proven that all images that the release lists are in the store.

    Exit status: 0 when all images are there, 1 when one is not; it is named, with who needs it.
    """
    from muster.cli.archiving import load_release

    as_json = options.begin_without_site(log_level, output_format)
    loaded = load_release(file, store, load_private(flags["key"]))
    if as_json:
        click.echo(json.dumps(_body(store, loaded), indent=2, ensure_ascii=False))
    else:
        _tell(store, loaded)
    return ExitStatus.FAILED if loaded.failed or loaded.missing else ExitStatus.OK


def _body(store: Path, loaded: Loaded) -> dict[str, Any]:
    return {
        "store": str(store),
        "releases": [
            {"kind": each.kind, "version": each.version, "image": str(each.image)} for each in loaded.releases
        ],
        "images": loaded.images,
        "newBytes": loaded.new_bytes,
        "failed": [{"image": name, "reason": why} for name, why in loaded.failed.items()],
        "missing": [
            {"image": str(each.need.image), "neededBy": list(each.need.needed_by), "reason": each.reason}
            for each in loaded.missing
        ],
    }


def _tell(store: Path, loaded: Loaded) -> None:
    for name, why in loaded.failed.items():
        click.echo(printable(f"BAD: {name} did not come: {why}"))
    for each in loaded.missing:
        click.echo(printable(f"MISSING {each.need.image}\n  needed by {', '.join(each.need.needed_by)}"))
        click.echo(printable(f"  {each.reason}"))
    for release in loaded.releases:
        whole = "" if loaded.missing or loaded.failed else ", all of it proven to be there"
        click.echo(f"{release.kind} {release.version} is in {store}{whole}")
    click.echo(f"{loaded.images} images, {render_size(loaded.new_bytes)} were new")
