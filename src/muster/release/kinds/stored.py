# SPDX-License-Identifier: Apache-2.0
"""The releases that a store has: found by a mark that their images carry, without reading any layer."""

from __future__ import annotations

import json
from typing import Final

from muster.errors import MusterError, UserError
from muster.frozen import dataclass
from muster.release.model import KIND_ANNOTATION
from muster.release.oci.manifest import LARGEST_MANIFEST, Descriptor, Manifest
from muster.release.oci.reference import Reference, parse_reference
from muster.release.store.store import Store

_LABEL: Final = "io.openshift.release"
"""What OpenShift's release images have in their configuration."""


@dataclass(frozen=True)
class Stored:
    """A release in a store."""

    reference: Reference
    image: Descriptor
    architectures: tuple[str, ...]


def find_releases(store: Store) -> tuple[Stored, ...]:
    """All releases of a store, each once; of its names, one with a tag."""
    found: dict[str, Stored] = {}
    for name, image in sorted(store.contents().images.items(), key=lambda each: "@" in each[0]):
        if image.digest not in found and (architectures := _release_for(store, image)):
            found[image.digest] = Stored(parse_reference(name), image, architectures)
    return tuple(found.values())


def choose_release(store: Store, name: str = "", architecture: str = "") -> Stored:
    """The one release that is meant: by its name, or the only one there is (for an architecture)."""
    found = find_releases(store)
    fitting = [
        each
        for each in found
        if (not name or name in (str(each.reference), each.image.digest, each.reference.tag))
        and (not architecture or architecture in each.architectures)
    ]
    if len(fitting) == 1:
        return fitting[0]
    shown = ", ".join(str(each.reference) for each in found)
    if len(fitting) > 1:
        raise UserError(
            f"{store.root} has several releases: {shown}",
            hint=f"name one of them: oci:{store.root}:{fitting[0].reference}",
        )
    what = f" {name[:200]!r}" if name else ""
    whose = f" for {architecture}" if architecture else ""
    raise UserError(
        f"{store.root} has no release{what}{whose}" + (f", only {shown}" if shown else ""),
        hint="`muster release mirror` copies one into it, `muster release build` makes one",
    )


def _release_for(store: Store, image: Descriptor) -> tuple[str, ...]:
    """What a release is for; nothing when the image is none, or is not whole."""
    try:
        manifest = store.manifest(image.digest)
        if manifest.is_index:
            each = (_release_for(store, child) for child in manifest.manifests)
            return tuple(dict.fromkeys(name for names in each for name in names))
        return _marked(store, manifest)
    except MusterError:
        return ()


def _marked(store: Store, manifest: Manifest) -> tuple[str, ...]:
    assert manifest.config is not None
    try:
        config = json.loads(store.blobs.read(manifest.config.digest, LARGEST_MANIFEST))
        labels = (config.get("config") or {}).get("Labels") or {}
        architecture = config["architecture"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ()
    return (str(architecture),) if KIND_ANNOTATION in manifest.annotations or _LABEL in labels else ()
