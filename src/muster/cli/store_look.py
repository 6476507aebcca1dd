# SPDX-License-Identifier: Apache-2.0
"""`muster store list` and `verify`: what is in a store, and whether all of it is there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import click

from muster.cli import options, progress
from muster.cli.store import load_public, place, plural, public_key
from muster.errors import ExitStatus, UserError
from muster.frozen import dataclass
from muster.redact import printable
from muster.release.oci.digest import Digest, hex_of
from muster.release.oci.manifest import Descriptor
from muster.release.store.seal import Seal, check_seal
from muster.release.store.store import Store, open_store
from muster.release.store.verify import Fault, Report, remove_damaged, verify_store
from muster.units import render_size

_SEALS: Final = {
    Seal.NONE: "it is not signed",
    Seal.UNCHECKED: "it is signed; --key tells by whom it has to be",
    Seal.GOOD: "it is signed by the owner of the key",
    Seal.WRONG: "its index was changed, or signed by somebody else",
}


@dataclass(frozen=True)
class _Image:
    """One line of the list."""

    name: str
    digest: Digest
    architectures: tuple[str, ...]
    sizes: dict[Digest, int]
    """What it needs; empty when some of that cannot be read."""


@click.command(
    "list", epilog=options.examples("muster store list /srv/images", "muster store list . -o json")
)
@place
@options.output
def list_(place: Path, output_format: str) -> None:
    """List the images of a store: names, digests, sizes; and what all of them take together."""
    as_json = options.begin_without_site(output_format=output_format)
    store = open_store(place)
    contents = store.contents()
    images = [_look(store, name, image) for name, image in sorted(contents.roots)]
    union = {digest: size for image in images for digest, size in image.sizes.items()}
    if as_json:
        body = {
            "path": str(place),
            "signed": check_seal(place, store.index(), None) is not Seal.NONE,
            "sizeBytes": sum(union.values()),
            "images": [_body(image) for image in images],
        }
        click.echo(json.dumps(body, indent=2))
    else:
        click.echo("\n".join([*_table(images), _sum(place, len(images), union)]))


def _look(store: Store, name: str, image: Descriptor) -> _Image:
    architectures: list[str] = []
    try:
        manifest = store.manifest(image.digest)
        architectures = [each.platform.architecture for each in manifest.manifests if each.platform]
        sizes = {blob.digest: blob.size_bytes for blob in store.walk(image)}
    except UserError:
        sizes = {}  # `muster store verify` tells what is wrong.
    return _Image(name, image.digest, tuple(architectures), sizes)


def _body(image: _Image) -> dict[str, Any]:
    size = sum(image.sizes.values()) if image.sizes else None
    body: dict[str, Any] = {"name": image.name, "digest": image.digest, "sizeBytes": size}
    return body | ({"architectures": list(image.architectures)} if image.architectures else {})


def _table(images: list[_Image]) -> list[str]:
    if not images:
        return []
    rows = [("DIGEST", "SIZE", "NAME")]
    for image in images:
        size = render_size(sum(image.sizes.values())) if image.sizes else "damaged"
        more = f" ({', '.join(image.architectures)})" if image.architectures else ""
        rows.append((hex_of(image.digest)[:12], size, printable(image.name) + more))
    width = max(len(row[1]) for row in rows)
    return [f"{digest:<12}  {size:<{width}}  {name}" for digest, size, name in rows]


def _sum(place: Path, count: int, union: dict[Digest, int]) -> str:
    if not count:
        return f"no images in {place}"
    return f"{plural(count, 'image')}, {render_size(sum(union.values()))} in {place}"


@click.command(
    epilog=options.examples(
        "muster store verify /srv/images                          # names, manifests, sizes",
        "muster store verify --full --key site.pub /media/store   # every byte, and who signed it",
    )
)
@place
@click.option("--full", is_flag=True, help="Read and hash every byte.")
@click.option(
    "--repair", is_flag=True, help="Remove damaged blobs, so that the next import brings them again."
)
@public_key
@options.log_level
@options.output
def verify(place: Path, log_level: str | None, output_format: str, **how: Any) -> ExitStatus:
    """Check that a store is whole: its index, every manifest, and the size of every blob.

    With --full, every byte is read. Each blob that is missing or damaged is told, with the images that need
    it; a medium that cannot be read in places is no obstacle. Works on read-only media.

    Exit status: 0 when all is well, 1 when something is not.
    """
    as_json = options.begin_without_site(log_level, output_format)
    store = open_store(place)
    report = verify_store(store, full=how["full"], public_key=load_public(how["key"]), progress=progress)
    removed = remove_damaged(store, report) if how["repair"] else ()
    if as_json:
        click.echo(json.dumps(_report_body(place, report, removed), indent=2))
    else:
        click.echo("\n".join(_report_lines(place, report, removed)))
    return ExitStatus.OK if report.is_good else ExitStatus.FAILED


def _report_body(place: Path, report: Report, removed: tuple[Digest, ...]) -> dict[str, Any]:
    return {
        "path": str(place),
        "good": report.is_good,
        "signature": str(report.seal),
        "index": report.index or None,
        "whole": list(report.whole),
        "broken": list(report.broken),
        "faults": [_fault_body(fault) for fault in report.faults],
        "unreachable": [{"digest": digest, "sizeBytes": size} for digest, size in report.unreachable],
        "neededBytes": report.needed_bytes,
        "readBytes": report.read_bytes,
        "removed": list(removed),
    }


def _fault_body(fault: Fault) -> dict[str, Any]:
    images = list(fault.images)
    return {"digest": fault.digest, "flaw": str(fault.flaw), "detail": fault.detail, "images": images}


def _report_lines(place: Path, report: Report, removed: tuple[Digest, ...]) -> list[str]:
    lines = [f"BAD: {report.index}"] if report.index else []
    for fault in report.faults:
        lines.append(f"BAD: {fault.detail}")
        lines += [f"     needed by {name}" for name in fault.images] or ["     nobody needs it"]
    if report.broken and report.whole:
        lines += [f"good: {name}" for name in report.whole]
    if report.must_be_sealed or report.seal is not Seal.NONE:
        good = "good" if report.seal is Seal.GOOD else "BAD" if report.must_be_sealed else "note"
        lines.append(f"{good}: {_SEALS[report.seal]}")
    if removed:
        lines.append(f"{plural(len(removed), 'damaged blob')} removed; import the images again")
    if report.unreachable:
        size = render_size(sum(size for _, size in report.unreachable))
        count = plural(len(report.unreachable), "blob")
        lines.append(f"note: no image needs {count}, {size}; `muster store gc` removes that")
    read = f"{render_size(report.read_bytes)} read" if report.read_bytes else "not every byte was read"
    names = f"{len(report.whole)} of {plural(len(report.whole) + len(report.broken), 'image')} whole"
    lines.append(f"{names} in {place}, {read}")
    return [printable(line) for line in lines]
