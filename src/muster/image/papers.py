# SPDX-License-Identifier: Apache-2.0
"""What lies beside every image: its checksum, what it is made of, and a signature if a key was given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from muster.frozen import dataclass
from muster.image.checksum import SIGNATURE_SUFFIX, SUFFIX, render_checksum
from muster.image.manner import Manner
from muster.image.sbom import Component, render_sbom
from muster.signature import load_signing_key, sign

SBOM_SUFFIX: Final = ".cdx.json"
SHA256_SUFFIX: Final = ".sha256"


@dataclass(frozen=True)
class Bill:
    """What the bill of materials says besides what is the same for all media."""

    parts: tuple[Component, ...] = ()
    created: int = 0
    """When the secrets on the medium were made, in seconds; zero for media without any."""
    properties: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Digests:
    """What an image hashes to."""

    verity: bytes
    sha256: str = ""
    """Only when it was asked for, or costs nothing."""


def render_papers(name: str, digests: Digests, bill: Bill, manner: Manner) -> Iterator[tuple[str, bytes]]:
    """The files beside an image of this name, by their names."""
    checksum = render_checksum(digests.verity, name)
    properties = {"fs-verity": f"sha256:{digests.verity.hex()}", **(bill.properties or {})}
    medium = Component("file", name, sha256=digests.sha256, properties=properties)
    yield f"{name}{SUFFIX}", checksum
    yield f"{name}{SBOM_SUFFIX}", render_sbom(medium, bill.parts, bill.created)
    if manner.sign_key is not None:
        yield f"{name}{SIGNATURE_SUFFIX}", sign(load_signing_key(manner.sign_key), checksum)
    if manner.with_sha256:
        yield f"{name}{SHA256_SUFFIX}", f"{digests.sha256}  {name}\n".encode()


def paper_names(name: str, manner: Manner) -> tuple[str, ...]:
    """The names of the files beside an image."""
    signature = (f"{name}{SIGNATURE_SUFFIX}",) if manner.sign_key is not None else ()
    sha256 = (f"{name}{SHA256_SUFFIX}",) if manner.with_sha256 else ()
    return (f"{name}{SUFFIX}", f"{name}{SBOM_SUFFIX}", *signature, *sha256)
