# SPDX-License-Identifier: Apache-2.0
"""What all kinds of releases have in common: which images they consist of, and what hosts boot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Protocol

from muster.errors import UserError
from muster.frozen import dataclass
from muster.release.oci.manifest import Platform
from muster.release.oci.reference import Reference


@dataclass(frozen=True)
class Part:
    """An image of a release."""

    name: str
    """What the release calls it."""
    image: Reference
    """By digest."""
    tag: str
    """What it may be called in a copy, besides its digest."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """What is in it, by name."""
    add_on: str = ""
    """The add-on that it is for; empty for what every cluster needs."""


@dataclass(frozen=True)
class Offer:
    """An add-on that clusters of a release may have."""

    id: str
    name: str
    description: str
    bundles: tuple[str, ...]
    dependencies: tuple[str, ...]
    conflicts: tuple[str, ...]


@dataclass(frozen=True)
class LiveImage:
    """Where the live ISO of a release is: a file in one of its images."""

    part: Part
    path: str
    """Without a slash before it."""
    hash_path: str
    """The file beside it that has its SHA-256."""
    stream_path: str
    """The file that tells what was published; not every release has it."""


@dataclass(frozen=True)
class Description:
    """A release, whatever kind it is of."""

    kind: str
    version: str
    image: Reference
    """Of the release itself, by digest."""
    architectures: tuple[str, ...]
    """As Go names them."""
    parts: tuple[Part, ...]
    offers: tuple[Offer, ...]

    @property
    def tag(self) -> str:
        """What the release may be called in a copy, besides its digest."""
        return self.image.tag or self.version

    def part(self, name: str) -> Part:
        """One of its images."""
        for part in self.parts:
            if part.name == name:
                return part
        raise UserError(
            f"the release {self.version} ({self.image}) has no component {name}",
            hint="take a release that has it, or name what it is needed for yourself (--base-image)",
        )


@dataclass(frozen=True)
class Content:
    """What was found in a release image."""

    image: Reference
    """By digest."""
    platforms: tuple[Platform, ...]
    """What the image is for, or the images of its index."""
    files: Mapping[str, bytes]
    """Those that some kind asked for, by path."""


class Kind(Protocol):
    """How one kind of release is read."""

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def files(self) -> tuple[str, ...]:
        """What has to be read out of the release image."""

    @property
    def mark(self) -> str:
        """The file that only releases of this kind have."""

    def describe(self, content: Content) -> Description:
        """What the files say."""

    def live_image(self, release: Description, stream: str, architecture: str) -> LiveImage | None:
        """Where the ISO is that hosts of an architecture (as RPM names it) boot; None when it has none."""
