# SPDX-License-Identifier: Apache-2.0
"""`muster store ...`: images by digest in a folder or on a medium."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from muster.cli import options
from muster.cli.lazy import LazyGroup

if TYPE_CHECKING:
    from muster.signature import PrivateKey, PublicKey

_VERBS: Final = {
    "list": ("store_look:list_", "List the images of a store, and their sizes."),
    "verify": ("store_look:verify", "Check that a store is whole, quickly or byte by byte."),
    "gc": ("store_change:gc", "Remove what no image needs, and images by name."),
    "sign": ("store_change:sign", "Sign what a store holds."),
    "import": ("store_exchange:import_", "Bring images in from layouts, archives and registry storage."),
    "export": ("store_exchange:export", "Copy images to another store or into an archive."),
}


@click.group(
    cls=LazyGroup,
    verbs=_VERBS,
    epilog=options.examples(
        "muster store list /srv/images",
        "muster store verify --full /media/cdrom/store",
        "muster store import /srv/images saved.tar",
    ),
)
def store() -> None:
    """Look at, verify, fill and clean a content store: images by digest, in a folder or on a medium.

    A store is an OCI image layout: skopeo and podman read it as oci:STORE:NAME, too. Content that several
    images share is there once. All that only reads works on read-only media.
    """


place = click.argument("place", metavar="STORE", type=click.Path(path_type=Path))
images = click.argument("images", metavar="[IMAGE]...", nargs=-1)
sign_key = click.option(
    "--key", "--sign-key", "key", metavar="FILE", type=click.Path(path_type=Path),
    help="Sign what the store holds with this private key (PEM: Ed25519, ECDSA or RSA).",
)  # fmt: skip
public_key = click.option(
    "--key", "--public-key", "key", metavar="FILE", type=click.Path(path_type=Path),
    help="Whose signature the store must have (PEM, public).",
)  # fmt: skip


def load_private(path: Path | None) -> PrivateKey | None:
    from muster.signature import load_signing_key

    return load_signing_key(path) if path is not None else None


def load_public(path: Path | None) -> PublicKey | None:
    from muster.signature import load_public_key

    return load_public_key(path) if path is not None else None


def plural(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
