# SPDX-License-Identifier: Apache-2.0
"""`muster release mirror`: a whole release from one place to another, and the proof that it is there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from muster.cli import options
from muster.cli.access import AccessFlags, access_options, settings_of
from muster.cli.store import load_private, sign_key
from muster.errors import ExitStatus, UserError
from muster.files import save_file
from muster.redact import printable
from muster.units import render_size

if TYPE_CHECKING:
    from muster.cli.mirroring import Done
    from muster.release.mirror.notice import Notice
    from muster.release.mirror.survey import Finding

_SOURCES: Final = "image-digest-sources.yaml"
_REGISTRIES: Final = "registries.conf"


@click.command(
    epilog=options.examples(
        "muster release mirror quay.example.com/ocp/release:4.22.0-x86_64 mirror.example.com:5000/ocp \\",
        "    --pull-secret pull-secret.json --config-dir mirror",
        "muster release mirror quay.example.com/ocp/release:4.22.0-x86_64 ./store   # to carry it away",
        "muster release mirror ./store mirror.example.com:5000/ocp                  # and bring it in",
        "muster release mirror ./store registry.example.com --manifests site/openshift/apps.yaml --dry-run",
    )
)
@click.argument("source", metavar="SRC")
@click.argument("target", metavar="DST")
@click.option("--image", "images", metavar="IMAGE", multiple=True, help="A further image to copy.")
@click.option(
    "--manifests", metavar="FILE", multiple=True, type=click.Path(path_type=Path),
    help="Manifests (YAML) whose images are copied, too.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Only tell what would be copied, and how much that is.")
@click.option(
    "--config-dir", metavar="DIR", type=click.Path(path_type=Path),
    help="Write image-digest-sources.yaml and registries.conf there, which make hosts use DST.",
)  # fmt: skip
@click.option(
    "--served-at", metavar="HOST[:PORT]", default="",
    help="Where a store will be served, for what --config-dir writes.",
)  # fmt: skip
@sign_key
@options.cache_dir
@access_options
@options.log_level
@options.output
def mirror(access: AccessFlags, log_level: str | None, output_format: str, **flags: Any) -> ExitStatus:
    """Copy the release SRC, and all images that it lists, to DST; what is there is neither copied nor read.

    SRC is a release image at a registry (registry.example.com/ocp/release:4.22.0-x86_64, or docker://...), or
    a content store (./store, /srv/store, oci:store; oci:store:NAME where it has several releases). DST is a
    registry or a path at one, below which every image keeps its own path, or a content store. Releases of
    OpenShift are copied as ours are, with all architectures that they are for. The images of a release are
    looked for beside it, if it is such a copy, and where --registries-conf and their names say.

    At the end every image that can be reached from the release, its add-ons, --manifests and --image is asked
    for by its digest, with all that belongs to it. The release image comes last, when all others are there.
    After an interruption the same command goes on.

    Exit status: 0 when all images are there, 1 when one is not; it is named, with who needs it.
    """
    from muster.cli.mirroring import Wish, carry_out

    as_json = options.begin_without_site(log_level, output_format)
    config_dir, is_dry = flags.pop("config_dir"), flags.pop("dry_run")
    key = load_private(flags.pop("key"))
    done = carry_out(Wish(**flags, is_dry=is_dry, key=key), settings_of(access))
    written = _write(config_dir, done.notice) if config_dir is not None and not is_dry else []
    _tell(done, written, is_dry=is_dry, as_json=as_json)
    return ExitStatus.FAILED if _bad(done, is_dry=is_dry) else ExitStatus.OK


def _bad(done: Done, *, is_dry: bool) -> list[Finding]:
    """The images that are not there; before anything is copied, only those that cannot be had."""
    return [finding for finding in done.outcome.missing if finding.trouble or not is_dry]


def _write(folder: Path, notice: Notice | None) -> list[Path]:
    """Write what makes hosts use the copy."""
    if notice is None:
        raise UserError(
            "nobody says where the store will be served, which --config-dir has to write",
            hint="add --served-at HOST:PORT, the address that hosts will ask",
        )
    files = {folder / _SOURCES: notice.install_config(), folder / _REGISTRIES: notice.registries_conf()}
    for path, text in files.items():
        save_file(path, text.encode())
    return list(files)


def _tell(done: Done, written: list[Path], *, is_dry: bool, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(_body(done, written, is_dry=is_dry), indent=2, ensure_ascii=False))
        return
    for line in _lines(done, written, is_dry=is_dry):
        click.echo(printable(line))


def _body(done: Done, written: list[Path], *, is_dry: bool) -> dict[str, Any]:
    release, outcome = done.release, done.outcome
    body: dict[str, Any] = {
        "release": {"kind": release.kind, "version": release.version, "image": str(release.image)},
        "destination": done.destination,
        "dryRun": is_dry,
        "images": len(outcome.findings),
        "copied": outcome.copied,
        "totalBytes": outcome.total_bytes,
        "toCopyBytes": outcome.to_copy_bytes,
        "missing": [
            {"image": str(each.need.image), "neededBy": list(each.need.needed_by), "reason": each.reason}
            for each in _bad(done, is_dry=is_dry)
        ],
        "written": [str(path) for path in written],
    }
    if done.notice is not None:
        body["imageDigestSources"] = [
            {"source": source, "mirrors": [mirror]} for source, mirror in done.notice.mirrors
        ]
        body["registriesConf"] = done.notice.registries_conf()
    return body


def _lines(done: Done, written: list[Path], *, is_dry: bool) -> Iterator[str]:
    release, outcome = done.release, done.outcome
    count = len(outcome.findings)
    what = f"{release.kind} {release.version}: {count} image{'' if count == 1 else 's'}"
    sizes = f"{render_size(outcome.total_bytes)}, {render_size(outcome.to_copy_bytes)} of it"
    bad = _bad(done, is_dry=is_dry)
    if is_dry:
        yield f"{what}, {sizes} would be copied to {done.destination}"
    elif outcome.copied:
        yield f"{what}, {sizes} had to be copied to {done.destination}"
    else:
        yield f"{what}, {render_size(outcome.total_bytes)}; nothing had to be copied to {done.destination}"
    for finding in bad:
        yield f"MISSING {finding.need.image}"
        yield f"  needed by {', '.join(finding.need.needed_by)}"
        yield f"  {finding.reason}"
    if not is_dry and not bad:
        yield f"proven: all {count} are there by digest, with all that belongs to them"
    yield from _advice(done.notice, written)


def _advice(notice: Notice | None, written: list[Path]) -> Iterator[str]:
    if notice is None or not (notice.mirrors or notice.by_tag):
        return
    for path in written:
        yield f"{path} written"
    if not written:
        yield "hosts use it with this in install-config.yaml (--config-dir writes it to files):"
        yield from notice.install_config().splitlines()
    for image in notice.by_tag:
        yield f"{image} is named by tag, which these mirrors do not serve: name it by digest"
