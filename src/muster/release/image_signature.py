# SPDX-License-Identifier: Apache-2.0
"""Signatures of images, in the form of cosign: an image beside the signed one, tagged sha256-<digest>.sig.

Each layer of that image is a statement that names the digest of the signed image; the signature of the
statement is an annotation of the layer. `cosign verify --key` with an ECDSA key reads the same signatures.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from muster.errors import MediaError, MusterError
from muster.release.kinds.reading import read_blob
from muster.release.oci.digest import Digest, hex_of
from muster.release.oci.manifest import OCI_CONFIG, Descriptor, Manifest, render_manifest
from muster.release.oci.reference import Reference

if TYPE_CHECKING:
    from muster.release.ports import Source
    from muster.release.store.store import Store
    from muster.signature import PrivateKey, PublicKey

STATEMENT: Final = "application/vnd.dev.cosign.simplesigning.v1+json"
SIGNATURE: Final = "dev.cosignproject.cosign/signature"
_TYPE: Final = "cosign container image signature"
_LARGEST: Final = 64 << 10
_MOST: Final = 32
"""How many signatures of one image are looked at."""


def signature_place(image: Reference, digest: Digest) -> Reference:
    """Where the signatures of an image are."""
    return Reference(image.registry, image.repository, f"sha256-{hex_of(digest)}.sig")


def sign_image(store: Store, image: Reference, digest: Digest, key: PrivateKey) -> Reference:
    """Sign an image of a store, and keep the signature beside it, with those of other keys."""
    from muster.signature import sign

    statement, place = render_statement(image.name, digest), signature_place(image, digest)
    signature = base64.b64encode(sign(key, statement)).decode("ascii")
    with store.shared():
        layer = Descriptor(
            STATEMENT, store.blobs.put(statement), len(statement), annotations={SIGNATURE: signature}
        )
        layers = (layer, *(each for each in _signatures_at(store, place) if each != layer))[:_MOST]
        config = json.dumps(
            {
                "architecture": "",
                "config": {},
                "os": "",
                "rootfs": {"type": "layers", "diff_ids": [each.digest for each in layers]},
            }
        ).encode()
        manifest = render_manifest(Descriptor(OCI_CONFIG, store.blobs.put(config), len(config)), layers)
        store.blobs.put(manifest.data)
        store.name({str(place): manifest.descriptor})
    return place


def _signatures_at(store: Store, place: Reference) -> tuple[Descriptor, ...]:
    """The signatures that there are already, with one key or several."""
    found = store.contents().images.get(str(place))
    if found is None:
        return ()
    return tuple(each for each in store.manifest(found.digest).layers if each.media_type == STATEMENT)


def render_statement(name: str, digest: Digest) -> bytes:
    """What is signed."""
    critical = {
        "identity": {"docker-reference": name},
        "image": {"docker-manifest-digest": digest},
        "type": _TYPE,
    }
    return json.dumps({"critical": critical, "optional": None}, separators=(",", ":")).encode()


async def require_signature(source: Source, image: Reference, digest: Digest, key: PublicKey) -> None:
    """Refuse an image that the owner of a key did not sign. A MusterError says what is wrong."""
    shown, place = replace(image, digest=digest), signature_place(image, digest)
    try:
        signed = await source.beside(place.tag)
        manifest = await signed.root()
    except MusterError as error:
        raise MediaError(
            f"a signature is required, and none of the release {shown} can be read: {error.message}",
            hint="sign it with `muster release sign`, and copy it again with `muster release mirror`",
        ) from error
    if not await _is_signed(signed, manifest, digest, key):
        raise MediaError(
            f"the release {shown} is not signed by the required key: no signature in {place.tag} is valid",
            hint="do not install it; check who changed it, or make the media with the right --release-key",
        )


async def _is_signed(source: Source, manifest: Manifest, digest: Digest, key: PublicKey) -> bool:
    from muster.signature import is_signed_by

    for layer in manifest.layers[:_MOST]:
        signature = _decode(layer.annotations.get(SIGNATURE, ""))
        if not signature or layer.media_type != STATEMENT or layer.size_bytes > _LARGEST:
            continue
        statement = await read_blob(source, layer)
        if is_signed_by(key, statement, signature) and _signed_digest(statement) == digest:
            return True
    return False


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _signed_digest(statement: bytes) -> str:
    """The digest that a statement is about; empty when it is about something else."""
    try:
        critical = json.loads(statement)["critical"]
        found = critical["image"]["docker-manifest-digest"]
        return found if critical["type"] == _TYPE and isinstance(found, str) else ""
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""


async def find_signature(source: Source, image: Reference) -> Reference | None:
    """The image with the signatures of an image, if there is one, to be copied with it."""
    if image.digest is None:
        return None
    place = signature_place(image, image.digest)
    try:
        root = await (await source.beside(place.tag)).root()
    except MusterError:
        return None
    return replace(place, digest=root.digest) if _is_signature(root) else None


def _is_signature(manifest: Manifest) -> bool:
    return any(layer.media_type == STATEMENT for layer in manifest.layers)
