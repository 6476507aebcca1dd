# SPDX-License-Identifier: Apache-2.0
"""Describes a release by what is in its image, wherever that is: at a registry, or in a store."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Final

from muster.errors import MediaError, UserError
from muster.frozen import dataclass
from muster.release.copying import find_image
from muster.release.kinds.description import Content, Description
from muster.release.kinds.known import FILES, describe_content
from muster.release.kinds.openshift import LARGEST_FILE
from muster.release.layers import read_files
from muster.release.oci.digest import Digest, digest_of
from muster.release.oci.manifest import LARGEST_MANIFEST, Descriptor, Manifest, Platform
from muster.release.oci.reference import Reference, parse_reference
from muster.release.oci.trouble import Damaged
from muster.release.ports import Source


@dataclass(frozen=True)
class Memory:
    """What was read before, by the digest of the release image; that is not asked for again."""

    find: Callable[[Digest, str], bytes | None]
    """By digest and name."""
    keep: Callable[[Digest, str, bytes], None]


def _find_nothing(_digest: Digest, _name: str) -> bytes | None:
    return None


def _keep_nothing(_digest: Digest, _name: str, _data: bytes) -> None:
    pass


FORGETFUL: Final = Memory(_find_nothing, _keep_nothing)


async def describe(
    source: Source, reference: Reference, architecture: str = "", memory: Memory = FORGETFUL
) -> Description:
    """What a release says of itself: that for one architecture, or for all that it is for, together."""
    known = source.digest
    root: Manifest | None = None
    if known is None:
        root = await source.root()
        known = root.digest
    image = replace(reference, digest=known)
    names = [architecture] if architecture else None
    if names is None:
        names = await _architectures(source, root, known, memory)
    contents = [await _content(source, image, name, memory) for name in names]
    return merge_descriptions([describe_content(content) for content in contents])


def merge_descriptions(found: Iterable[Description]) -> Description:
    """One release of several that are the same but for their architectures."""
    first, *others = found
    for other in others:
        if (other.kind, other.version) != (first.kind, first.version):
            raise MediaError(
                f"{first.image} is two releases in one: {first.kind} {first.version} and"
                f" {other.kind} {other.version}",
                hint="copy the release again from where it came",
            )
    every = (first, *others)
    # Images of several architectures have one name, and ours have as many as there are architectures.
    parts = {(part.name, part.image.digest): part for each in every for part in each.parts}
    architectures = dict.fromkeys(name for each in every for name in each.architectures)
    return replace(first, architectures=tuple(architectures), parts=tuple(parts.values()))


async def _architectures(source: Source, root: Manifest | None, digest: Digest, memory: Memory) -> list[str]:
    """What the images of an index are for; one empty name when there is only one image."""
    kept = memory.find(digest, "architectures")
    if kept is not None:
        return kept.decode().split(",")
    root = root or await source.root()
    names = [
        each.platform.architecture for each in root.manifests if each.platform and each.platform.os == "linux"
    ]
    if root.is_index and not names:
        raise UserError(
            f"{source.shown} is an index that does not say what its images are for",
            hint="name the image of one architecture by its digest",
        )
    names = list(dict.fromkeys(names)) or [""]
    memory.keep(digest, "architectures", ",".join(names).encode())
    return names


async def _content(source: Source, image: Reference, architecture: str, memory: Memory) -> Content:
    assert image.digest is not None
    name = f"release-{architecture}" if architecture else "release"
    kept = memory.find(image.digest, name)
    found = parse_content(kept, image) if kept is not None else None
    if found is None:
        found = await _read(source, image, architecture)
        memory.keep(image.digest, name, render_content(found))
    return found


async def _read(source: Source, image: Reference, architecture: str) -> Content:
    manifest = await find_image(source, architecture)
    platform = await read_platform(source, manifest)
    if architecture and platform.architecture != architecture:
        raise UserError(
            f"{source.shown} is for {platform.architecture}, not for {architecture}",
            hint="take the release of that architecture, or one that is for several",
        )
    files = await read_files(source, FILES, architecture=architecture, limit=LARGEST_FILE)
    return Content(image, (platform,), files)


async def read_platform(source: Source, manifest: Manifest) -> Platform:
    """What an image says that it runs on, in its configuration."""
    if manifest.config is None:
        raise MediaError(
            f"{source.shown} is no image but an index", hint="name the image of one architecture"
        )
    data = await read_blob(source, manifest.config)
    try:
        body = json.loads(data)
        return Platform(str(body["architecture"]), str(body["os"]), str(body.get("variant") or ""))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise MediaError(
            f"the configuration of {source.shown} does not say what it runs on",
            hint="check that it is an image that can be run; some hold other things",
        ) from error


async def read_blob(source: Source, blob: Descriptor) -> bytes:
    """A small blob as a whole, checked."""
    if blob.size_bytes > LARGEST_MANIFEST:
        raise Damaged(
            f"the blob {blob.digest} of {source.shown} has {blob.size_bytes} bytes, too many for what it is",
            hint="check that it is the image that was meant",
        )
    data = bytearray()
    async with aclosing(source.blob(blob)) as chunks:
        async for chunk in chunks:
            data += chunk
    if digest_of(bytes(data)) != blob.digest:
        raise Damaged(
            f"the blob {blob.digest} of {source.shown} is not what it should be",
            hint="it was changed on the way, or the registry is broken; ask another one",
        )
    return bytes(data)


def render_content(content: Content) -> bytes:
    """What was read, to be kept."""
    body = {
        "image": str(content.image),
        "architectures": [platform.architecture for platform in content.platforms],
        "files": {name: base64.b64encode(data).decode() for name, data in content.files.items()},
    }
    return json.dumps(body).encode()


def parse_content(data: bytes, image: Reference) -> Content | None:
    """What was kept; None when it makes no sense, or is of another release."""
    try:
        body: dict[str, Any] = json.loads(data)
        if parse_reference(body["image"]).digest != image.digest:
            return None
        platforms = tuple(Platform(str(name)) for name in body["architectures"])
        files = {str(name): base64.b64decode(text) for name, text in body["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, UserError):
        return None
    return Content(image, platforms, files)
