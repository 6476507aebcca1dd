# SPDX-License-Identifier: Apache-2.0
"""registries.conf: where images are really pulled from, as containers-registries.conf(5) says it.

Prefixes match as they do on the hosts, in containers/image: the longest prefix decides, a wildcard
before another one of its length, and the first of several entries with the same prefix.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final

from muster.frozen import dataclass
from muster.model.install_config import ImageContentSource, ImageSource, SourcePolicy

_WILDCARD: Final = "*."
_SEPARATORS: Final = ("/", ":", "@")


class PullFromMirror(StrEnum):
    """Which images a mirror is asked for."""

    ALL = "all"
    DIGEST_ONLY = "digest-only"
    TAG_ONLY = "tag-only"


@dataclass(frozen=True)
class Mirror:
    """A place that holds copies of images."""

    location: str
    insecure: bool = False
    """Plain HTTP and certificates that nobody signed are accepted."""
    pull_from_mirror: PullFromMirror = PullFromMirror.ALL


@dataclass(frozen=True)
class Registry:
    """Images whose names begin alike, and where they are."""

    location: str = ""
    """Where the images are; empty with a wildcard prefix that changes no names."""
    prefix: str = ""
    """How the names begin (``*.example.com`` for all hosts below); the location when it is empty."""
    insecure: bool = False
    blocked: bool = False
    """The location itself is never asked; mirrors are."""
    mirror_by_digest_only: bool = False
    mirrors: tuple[Mirror, ...] = ()

    @property
    def scope(self) -> str:
        """How the names of the images begin."""
        return (self.prefix or self.location).rstrip("/")

    @property
    def is_idle(self) -> bool:
        """Whether nothing changes about where the images come from."""
        moved = self.scope != self.location.rstrip("/")
        return not (self.mirrors or self.blocked or self.insecure or moved)


@dataclass(frozen=True)
class PullSource:
    """An image under the name that it has at one place."""

    image: str
    insecure: bool = False


@dataclass(frozen=True)
class RegistriesConf:
    """All of registries.conf that Muster understands."""

    registries: tuple[Registry, ...] = ()
    unqualified_search_registries: tuple[str, ...] = ()

    def find_registry(self, image: str) -> Registry | None:
        """The entry that decides about an image."""
        matching = [registry for registry in self.registries if _matched(image, registry.scope)]
        return min(matching, key=lambda registry: (-len(registry.scope), registry.scope), default=None)

    def find_mirrors(self, image: str) -> tuple[PullSource, ...]:
        """The mirrors that may hold an image, in the order they are asked in."""
        registry = self.find_registry(image)
        if registry is None:
            return ()
        sources = (
            PullSource(_moved(image, registry.scope, mirror.location), mirror.insecure)
            for mirror in registry.mirrors
            if _serves(mirror, registry, image)
        )
        return tuple(source for source in sources if not self._blocks(source.image))

    def find_source(self, image: str) -> PullSource | None:
        """Where an image is if no mirror has it; None when that place is blocked."""
        registry = self.find_registry(image)
        if registry is None:
            return PullSource(image)
        place = _moved(image, registry.scope, registry.location) if registry.location else image
        return None if registry.blocked or self._blocks(place) else PullSource(place, registry.insecure)

    def is_insecure(self, image: str) -> bool:
        """Whether an image's own place need not prove who it is: as a registry, or as somebody's mirror."""
        registry = self.find_registry(image)
        mirrors = (mirror for each in self.registries for mirror in each.mirrors if mirror.insecure)
        return bool(registry and registry.insecure) or any(
            _matched(image, mirror.location.rstrip("/")) for mirror in mirrors
        )

    def _blocks(self, image: str) -> bool:
        registry = self.find_registry(image)
        return registry is not None and registry.blocked


def _matched(image: str, scope: str) -> int:
    """How many characters of an image's name a prefix stands for; 0 when it does not match."""
    if scope.startswith(_WILDCARD):
        at = image.find(scope[1:])
        if at < 0 or "/" in image[:at]:
            return 0
        end = at + len(scope) - 1
    elif image.startswith(scope):
        end = len(scope)
    else:
        return 0
    return end if end == len(image) or image[end] in _SEPARATORS else 0


def _moved(image: str, scope: str, location: str) -> str:
    """The name of an image at another place."""
    return location.rstrip("/") + image[_matched(image, scope) :]


def _serves(mirror: Mirror, registry: Registry, image: str) -> bool:
    by_digest = "@" in image
    if registry.mirror_by_digest_only or mirror.pull_from_mirror is PullFromMirror.DIGEST_ONLY:
        return by_digest
    return mirror.pull_from_mirror is PullFromMirror.ALL or not by_digest


def merge_sources(sources: Iterable[ImageContentSource]) -> RegistriesConf:
    """What imageDigestSources or imageContentSources mean, with one entry for each source.

    A source without mirrors says nothing. Mirrors are used for images by digest only, as in the
    cluster itself.
    """
    mirrors: dict[str, dict[str, None]] = {}
    blocked: set[str] = set()
    for entry in sources:
        if not entry.source or not entry.mirrors:
            continue
        mirrors.setdefault(entry.source, {}).update(dict.fromkeys(entry.mirrors))
        if isinstance(entry, ImageSource) and entry.source_policy is SourcePolicy.NEVER_CONTACT_SOURCE:
            blocked.add(entry.source)
    return RegistriesConf(
        tuple(
            Registry(
                location=source,
                blocked=source in blocked,
                mirror_by_digest_only=True,
                mirrors=tuple(Mirror(location) for location in locations),
            )
            for source, locations in mirrors.items()
        )
    )


def render_registries_conf(conf: RegistriesConf) -> str:
    """The text of registries.conf; the same for the same entries, with no more than has to be said."""
    search = ", ".join(_quoted(name) for name in conf.unqualified_search_registries)
    lines = [f"unqualified-search-registries = [{search}]"]
    for registry in conf.registries:
        lines += ["", "[[registry]]", *_registry_lines(registry)]
        for mirror in registry.mirrors:
            lines += ["", "  [[registry.mirror]]", *(f"  {line}" for line in _mirror_lines(mirror))]
    return "\n".join(lines) + "\n"


def _registry_lines(registry: Registry) -> Iterator[str]:
    if registry.prefix:
        yield f"prefix = {_quoted(registry.prefix)}"
    if registry.location:
        yield f"location = {_quoted(registry.location)}"
    if registry.insecure:
        yield "insecure = true"
    if registry.blocked:
        yield "blocked = true"
    if registry.mirror_by_digest_only:
        yield "mirror-by-digest-only = true"


def _mirror_lines(mirror: Mirror) -> Iterator[str]:
    yield f"location = {_quoted(mirror.location)}"
    if mirror.insecure:
        yield "insecure = true"
    if mirror.pull_from_mirror is not PullFromMirror.ALL:
        yield f"pull-from-mirror = {_quoted(mirror.pull_from_mirror)}"


def _quoted(text: str) -> str:
    """A basic string of TOML; JSON's escapes are among those that TOML has."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
