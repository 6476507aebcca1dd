# SPDX-License-Identifier: Apache-2.0
"""What `muster serve` starts with: releases and base images that were named, a password, keys of others."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from muster.cli import log, options
from muster.errors import UserError, cannot

if TYPE_CHECKING:
    from muster.image.base_image import BaseImage
    from muster.release.look import Found
    from muster.release.model import Release
    from muster.release.store.store import Store
    from muster.service.edge.given import Given
    from muster.service.offers import Offer, Offers


class Releases:
    """The releases of some content stores, found by version and architecture."""

    def __init__(self, stores: tuple[Path, ...], key: Path | None = None) -> None:
        self._found = _find_releases(stores, key)

    @property
    def offers(self) -> Offers:
        """What people are told that they can install."""
        from muster import __version__
        from muster.service.offers import Offers

        return Offers(tuple(offer for offer, _ in self._found), (("muster", __version__),))

    def find(self, version: str, architecture: str) -> Release:
        """The release that a cluster asks for."""
        offer = self.offers.find(version, architecture)
        for each, release in self._found:
            if each == offer:
                return release
        raise UserError(
            f"there is no release {version} for {architecture}: the service has none at all",
            hint="start it with --release STORE, which names a content store that has it",
        )


def _find_releases(stores: tuple[Path, ...], key: Path | None) -> list[tuple[Offer, Release]]:
    from muster.release.look import find_releases, load_release
    from muster.release.store.store import open_store
    from muster.service.offers import Offer

    names = {"amd64": ("x86_64",), "arm64": ("aarch64", "arm64")}
    found: list[tuple[Offer, Release]] = []
    for place in stores:
        store = open_store(place)
        before = len(found)
        for each in find_releases(store):
            if key is not None:
                _check_signature(store, each, key)
            release = load_release(store, each)
            offer = Offer(
                version=release.version,
                image=each.name,
                architectures=names.get(release.architecture, (release.architecture,)),
                title=f"Kubernetes {release.version}",
                is_default=not found,
            )
            found.append((offer, release))
        if len(found) == before:
            raise UserError(
                f"{place} has no release in it",
                hint="`muster release build` or `muster release mirror` puts one there",
            )
    return found


def _check_signature(store: Store, found: Found, key: Path) -> None:
    from muster.cli.loop import run_async
    from muster.release.image_signature import require_signature
    from muster.release.in_store import StoreSource
    from muster.release.oci.reference import parse_reference
    from muster.signature import load_public_key

    source, reference = StoreSource(store, found.image, found.name), parse_reference(found.name)
    public = load_public_key(key)
    run_async(lambda: require_signature(source, reference, found.image.digest, public))


def find_images(sources: tuple[str, ...], stack: ExitStack) -> dict[tuple[str, str], Callable[[], BaseImage]]:
    """Base images, by the architecture that each is for; the cache keeps them while the service runs."""
    if not sources:
        return {}
    from muster.cli.base_image import obtain, open_cache
    from muster.image.coreos.architecture import find_architecture
    from muster.image.iso.volume import Volume

    cache = stack.enter_context(open_cache(None))
    found: dict[tuple[str, str], Callable[[], BaseImage]] = {}
    for source in sources:
        image = obtain(options.BaseImageFlags(source=source), cache)
        with Volume.open(image.path) as volume:
            architecture = find_architecture(volume) or os.uname().machine
        if (architecture, "") in found:
            raise UserError(
                f"{source} is the second base image for {architecture}",
                hint="name one base image for each architecture",
            )
        found[architecture, ""] = lambda image=image: image  # type: ignore[misc]
    return found


def find_certificate(certificate: Path | None, key: Path | None) -> Given | None:
    """The site's own certificate, if there is one; its key may be in the same file."""
    from muster.service.edge.given import Given

    if certificate is None and key is not None:
        raise UserError("--key is given without --certificate", hint="name both files, or neither")
    return None if certificate is None else Given(certificate, key or certificate)


def load_password(path: Path | None) -> str:
    """The hash of the password in a file, which may hold that itself; empty when there is to be none."""
    if path is None:
        return ""
    from muster.service.auth.passwords import check_password, hash_password, is_hash

    password = read_text(path).split("\n", 1)[0].strip("\r")
    if not password:
        raise UserError(
            f"{path} has no password in its first line",
            hint="write one there, or leave --password-file out: a code to log in is printed anyway",
        )
    if path.stat().st_mode & 0o004:
        log.warn("%s can be read by everybody; chmod 600 %s", path, path)
    if is_hash(password):
        return password
    check_password(password, str(path))
    return hash_password(password, os.urandom)


def read_text(path: Path) -> str:
    """A text file that was named."""
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise cannot("read", path, error) from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not a text file", hint="check that it is the file you mean") from error
