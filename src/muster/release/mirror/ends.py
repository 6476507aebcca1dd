# SPDX-License-Identifier: Apache-2.0
"""What users write to say where a release is and where it goes: a registry, or a store on a disk.

registry.example.com/ocp/release:4.22.0     an image, or a path for images, at a registry
docker://registry.example.com/...           the same, as skopeo and oc-mirror write it
./store, /srv/store, oci:store              a store
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, TypeAlias

from muster.config.formats.images import repository_fault
from muster.errors import UserError
from muster.frozen import dataclass
from muster.release.oci.reference import Reference, parse_reference

_REGISTRY: Final = "docker://"
_STORE: Final = re.compile(r"(?:oci|file):(?://)?(?=.)")
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_PATH: Final = re.compile(r"[/~]|\.{1,2}(?:/|\Z)")
_HINT: Final = (
    "a registry is written registry.example.com/path, a store as a path: ./store, /srv/store or oci:store"
)


@dataclass(frozen=True)
class AtRegistry:
    """Something at a registry."""

    name: str
    """As it was written, without the scheme."""

    @property
    def shown(self) -> str:
        return self.name

    def image(self) -> Reference:
        """The image that it names."""
        return parse_reference(self.name)

    def prefix(self) -> Prefix:
        """The place for many images that it names."""
        name = self.name.rstrip("/")
        fault = repository_fault(name)
        if fault:
            raise UserError(
                f"{name[:200]!r} is no place for images: {fault}",
                hint="name a registry, or a path at it, without tag: registry.example.com/mirror",
            )
        registry, _, path = name.partition("/")
        return Prefix(registry, path)


@dataclass(frozen=True)
class InStore:
    """A store on a disk."""

    path: Path
    name: str = ""
    """One of its images; empty when none is named."""

    @property
    def shown(self) -> str:
        return f"{self.name} in {self.path}" if self.name else str(self.path)


@dataclass(frozen=True)
class Prefix:
    """A registry, or a path at one, below which every image has the path that it has at home."""

    registry: str
    path: str = ""

    @property
    def shown(self) -> str:
        return f"{self.registry}/{self.path}" if self.path else self.registry

    def place(self, image: Reference, tag: str = "") -> Reference:
        """The name that an image has here."""
        path = f"{self.path}/{image.repository}" if self.path else image.repository
        return Reference(self.registry, path, tag, image.digest)


End: TypeAlias = AtRegistry | InStore


def parse_end(text: str) -> End:
    """Read where a release is, or goes. Whether that exists does not matter, so a typo changes nothing."""
    if not text.strip():
        raise UserError("a place is empty", hint=_HINT)
    if text.startswith(_REGISTRY):
        return AtRegistry(_named(text.removeprefix(_REGISTRY)))
    store = _STORE.match(text)
    if store:
        path, _, name = text[store.end() :].partition(":")
        return InStore(_path(path), name)
    if _SCHEME.match(text):
        raise UserError(f"{text.partition('://')[0]}:// names neither a registry nor a store", hint=_HINT)
    if _PATH.match(text) or not _looks_like_host(text.partition("/")[0]):
        return InStore(_path(text))
    return AtRegistry(text)


def _path(text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise UserError(f"{text!r} names no folder: whose home is it?", hint=_HINT) from error


def _named(text: str) -> str:
    if not text:
        raise UserError("docker:// names no registry", hint=_HINT)
    return text


def _looks_like_host(first: str) -> bool:
    """As container tools tell ``registry.example.com/a`` from ``library/a``."""
    return "." in first or ":" in first or first == "localhost"
