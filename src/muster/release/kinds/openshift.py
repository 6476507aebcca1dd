# SPDX-License-Identifier: Apache-2.0
"""Releases of OpenShift: what their image says of itself in ``/release-manifests``.

``image-references`` is an ImageStream whose tags name every component by its digest; ``release-metadata``
tells the version. What it says of upgrades is not read: what is installed was chosen before. In a release for
several architectures the release image and all components are indexes; each of its images says the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from muster.errors import MediaError, UserError
from muster.release.kinds.description import Content, Description, LiveImage, Offer, Part
from muster.release.oci.reference import parse_reference
from muster.release.operators.catalogue import operators

REFERENCES: Final = "release-manifests/image-references"
METADATA: Final = "release-manifests/release-metadata"
FILES: Final = (REFERENCES, METADATA)
LARGEST_FILE: Final = 8 << 20
"""A real one has 200 KB; more is not read."""
MACHINE_OS: Final = "machine-os-images"
"""The component that carries the live ISO."""
_METADATA_KIND: Final = "cincinnati-metadata-v0"
_VERSIONS: Final = "io.openshift.build.versions"
_NOT_IN_TAGS: Final = re.compile(r"[^\w.-]", re.ASCII)
_HINT: Final = "check that the name is that of a whole release; copy it again if it is a mirror's"


class OpenShift:
    """Reads releases of OpenShift and OKD."""

    name = "openshift"
    files = FILES
    mark = REFERENCES

    def describe(self, content: Content) -> Description:
        return parse_payload(content)

    def live_image(self, release: Description, stream: str, architecture: str) -> LiveImage | None:
        path = iso_path(stream, architecture)
        return LiveImage(release.part(MACHINE_OS), path, f"{path}.sha256", stream_path(stream))


def parse_payload(content: Content) -> Description:
    """Read the files of a release image."""
    origin, files = str(content.image), content.files
    missing = [name for name in FILES if name not in files]
    if missing:
        raise _bad(origin, f"it has no /{missing[0]}")
    metadata = _object(files[METADATA], f"/{METADATA}", origin)
    if metadata.get("kind") != _METADATA_KIND:
        raise _bad(origin, f"the kind of /{METADATA} is {_shown(metadata.get('kind'))}, not {_METADATA_KIND}")
    version = metadata.get("version")
    if not isinstance(version, str) or not version:
        raise _bad(origin, f"/{METADATA} names no version")
    stream = _object(files[REFERENCES], f"/{REFERENCES}", origin)
    if stream.get("kind") != "ImageStream":
        raise _bad(origin, f"the kind of /{REFERENCES} is {_shown(stream.get('kind'))}, not ImageStream")
    named = _at(stream, "metadata", "name")
    if named != version:
        raise _bad(
            origin,
            f"/{REFERENCES} is of version {_shown(named)}, but /{METADATA} is of version {_shown(version)}",
        )
    architectures = dict.fromkeys(platform.architecture for platform in content.platforms)
    return Description(
        "openshift", version, content.image, tuple(architectures), _parts(stream, version, origin), _offers()
    )


def _offers() -> tuple[Offer, ...]:
    """What the lifecycle manager of every cluster can install; a release itself lists none of it."""
    return tuple(
        Offer(
            each.id,
            each.name,
            each.description,
            tuple(dict.fromkeys(membership.id for membership in each.bundles)),
            tuple(dependency.id for dependency in each.dependencies),
            tuple(sorted(each.conflicts)),
        )
        for each in operators().values()
    )


def iso_path(stream: str, architecture: str) -> str:
    """Where the live ISO is in the image of the machine OS; the architecture as RPM names it."""
    return f"coreos/{_prefix(stream)}-{architecture}.iso"


def stream_path(stream: str) -> str:
    """Where the image of the machine OS tells what it carries."""
    return f"coreos/{_prefix(stream)}-stream.json"


def parse_iso_hash(data: bytes, where: str) -> str:
    """The SHA-256 that lies beside the ISO: digits alone, or the line of `sha256sum`."""
    words = data[:4096].decode("ascii", "replace").split()
    digits = words[0].lower() if words else ""
    if len(digits) != 64 or set(digits) - set("0123456789abcdef"):
        raise MediaError(f"{where} is not a SHA-256", hint="the image is broken; copy the release again")
    return digits


def find_stream_hash(data: bytes, architecture: str) -> str:
    """The SHA-256 that the metadata of a line of images tells for its live ISO; empty when it tells none."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        return ""
    metal = _at(body, "architectures", architecture, "artifacts", "metal", "formats", "iso", "disk", "sha256")
    return metal.lower() if isinstance(metal, str) else ""


def _prefix(stream: str) -> str:
    return "coreos10" if stream == "rhel-10" else "coreos"


def _parts(stream: Mapping[str, Any], version: str, origin: str) -> tuple[Part, ...]:
    tags = _at(stream, "spec", "tags")
    if not isinstance(tags, list) or not tags:
        raise _bad(origin, f"/{REFERENCES} has no spec.tags")
    found: dict[str, Part] = {}
    for number, tag in enumerate(tags):
        part = _part(tag, f"spec.tags[{number}] of /{REFERENCES}", version, origin)
        if part.name in found:
            raise _bad(origin, f"/{REFERENCES} names {part.name} twice")
        found[part.name] = part
    return tuple(found.values())


def _part(tag: Any, where: str, version: str, origin: str) -> Part:
    name, image = _at(tag, "name"), _at(tag, "from", "name")
    if not isinstance(name, str) or not name:
        raise _bad(origin, f"{where} has no name")
    if _at(tag, "from", "kind") != "DockerImage" or not isinstance(image, str):
        raise _bad(origin, f"{where} ({_shown(name)}) names no image")
    try:
        reference = parse_reference(image)
    except UserError as error:
        raise _bad(origin, f"{where} ({_shown(name)}): {error.message}") from error
    if reference.digest is None:
        raise _bad(origin, f"{where} ({_shown(name)}) is not named by its digest, but as {image[:200]!r}")
    label = _NOT_IN_TAGS.sub("-", f"{version}-{name}")[:128]
    return Part(name, reference, label, _versions(_at(tag, "annotations", _VERSIONS)))


def _versions(text: Any) -> dict[str, str]:
    """``kubernetes=1.34.2,kubectl=1.34.1`` as a table; what has another form is left out."""
    pairs = (pair.partition("=") for pair in text.split(",")) if isinstance(text, str) else ()
    return {name.strip(): value.strip() for name, sign, value in pairs if sign and name.strip()}


def _at(body: Any, *keys: str) -> Any:
    """What is below some keys; None when there is no such thing."""
    for key in keys:
        body = body.get(key) if isinstance(body, dict) else None
    return body


def _object(data: bytes, where: str, origin: str) -> Mapping[str, Any]:
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _bad(origin, f"{where} is not JSON") from error
    if not isinstance(body, dict):
        raise _bad(origin, f"{where} is not an object")
    return body


def _shown(value: Any) -> str:
    return repr(value[:80]) if isinstance(value, str) else "nothing" if value is None else "not a text"


def _bad(origin: str, why: str) -> MediaError:
    return MediaError(f"{origin} is not a release of OpenShift that can be used: {why}", hint=_HINT)
