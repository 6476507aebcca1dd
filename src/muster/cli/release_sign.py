# SPDX-License-Identifier: Apache-2.0
"""`muster release sign`: the signature that hosts check before they install a release."""

from __future__ import annotations

from pathlib import Path

import click

from muster.cli import options
from muster.cli.release_place import host_architecture, store_option, store_place


@click.command(
    epilog=options.examples(
        "openssl genpkey -algorithm ed25519 -out sign.key && openssl pkey -in sign.key -pubout -out sign.pub",
        "muster release sign --key sign.key",
        "muster release sign 4.22.0-x86_64 --store ./store --key sign.key",
        "muster agent create image --dir mysite --release ./store --release-key sign.pub",
    )
)
@click.argument("name", metavar="[NAME]", default="")
@store_option
@click.option(
    "--key", "--sign-key", "key", metavar="FILE", type=click.Path(path_type=Path), required=True,
    help="Sign with this private key (PEM: Ed25519, ECDSA or RSA).",
)  # fmt: skip
@options.cache_dir
@options.log_level
def sign(name: str, store_dir: Path | None, key: Path, cache_dir: str | None, log_level: str | None) -> None:
    """Sign the release NAME of a content store, or its only one.

    The signature is over the digest of the release image, which leads to every byte of the release. It is
    kept beside the image in the form of cosign (tag sha256-<digest>.sig), together with signatures of other
    keys; `muster release mirror`, `save` and `muster agent create image --embed-release` take it along. Hosts
    check it when their medium was made with --release-key.
    """
    from muster.release.image_signature import sign_image
    from muster.release.kinds.stored import choose_release, find_releases
    from muster.release.store.store import open_store
    from muster.signature import load_signing_key

    options.begin_without_site(log_level)
    private = load_signing_key(key)
    store = open_store(store_place(store_dir, cache_dir))
    several = not name and len(find_releases(store)) > 1
    found = choose_release(store, name, host_architecture() if several else "")
    place = sign_image(store, found.reference, found.image.digest, private)
    click.echo(f"{found.reference} is signed: {found.image.digest}, as {place.tag}")
