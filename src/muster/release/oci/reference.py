# SPDX-License-Identifier: Apache-2.0
"""What names an image: a registry, a repository there, and a tag or a digest."""

from __future__ import annotations

from muster.config.formats.images import image_fault, registry_of
from muster.errors import UserError
from muster.frozen import dataclass
from muster.model.release import repository_of, tag_of
from muster.release.oci.digest import Digest, parse_digest


@dataclass(frozen=True)
class Reference:
    """One image at one place."""

    registry: str
    """Host, and port if any."""
    repository: str
    """The path at the registry, as its API has it."""
    tag: str = ""
    digest: Digest | None = None
    """What the image has to be; a tag beside it is only a remark."""

    @property
    def name(self) -> str:
        """Registry and repository, without what chooses one of its images."""
        return f"{self.registry}/{self.repository}"

    @property
    def wanted(self) -> str:
        """What a registry is asked for: the digest, else the tag."""
        return self.digest or self.tag

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.name}{tag}@{self.digest}" if self.digest else f"{self.name}{tag}"


def parse_reference(text: str) -> Reference:
    """Read ``registry/repository[:tag][@digest]``; without both the tag is ``latest``."""
    fault = image_fault(text)
    if fault:
        raise UserError(
            f"{text[:200]!r} does not name an image: {fault}",
            hint="write it as registry.example.com/path/name:tag or ...@sha256:...",
        )
    tail = text.partition("@")[2]
    digest = parse_digest(tail) if tail else None
    registry = registry_of(text)
    tag = tag_of(text) or ("" if digest else "latest")
    return Reference(registry, repository_of(text).removeprefix(f"{registry}/"), tag, digest)
