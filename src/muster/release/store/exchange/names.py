# SPDX-License-Identifier: Apache-2.0
"""Which images are meant, and what they are called in a store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TypeVar

from muster.errors import UserError
from muster.model.release import tag_of
from muster.release.oci.reference import parse_reference
from muster.release.store.exchange.source import Found

T = TypeVar("T")


def settle_names(found: Sequence[Found], given: str = "") -> dict[str, Found]:
    """A whole name for each image of a source; ``given`` is for those that have none, or for the only one.

    Without a tag it is a repository: the tags and digests of several images go behind it.
    """
    if given:
        parse_reference(given)
    is_exact = "@" in given or bool(tag_of(given))
    if is_exact and len({each.image.digest for each in found}) > 1:
        raise UserError(
            f"{given} names one image, and there are {len(found)}",
            hint="choose one of them, or give a repository without a tag",
        )
    if given and (is_exact or len(found) == 1):
        tag = "" if is_exact else f":{found[0].tag or _own_tag(found[0]) or 'latest'}"
        return {f"{given}{tag}": each for each in found[:1]}
    named: dict[str, Found] = {}
    for each in found:
        name = _name(each, given)
        if named.setdefault(name, each).image.digest != each.image.digest:
            raise UserError(f"two images are called {name}", hint="copy them one by one, with another tool")
    return named


def _own_tag(found: Found) -> str:
    return parse_reference(found.name).tag if found.name else ""


def _name(found: Found, repository: str) -> str:
    if found.name:
        return found.name
    if not repository:
        called = f"is called {found.tag!r} only" if found.tag else "has no name"
        raise UserError(
            f"the image {found.image.digest} {called}",
            hint="say what it is: --as registry.example.com/path/name:tag",
        )
    name = f"{repository}:{found.tag}" if found.tag else f"{repository}@{found.image.digest}"
    parse_reference(name)
    return name


def choose_names(images: Mapping[str, T], wanted: Iterable[str]) -> dict[str, T]:
    """The images that names or patterns (``app/*``) mean, with or without the registry; none means all."""
    patterns = list(wanted)
    if not patterns:
        return dict(images)
    chosen: dict[str, T] = {}
    for pattern in patterns:
        matching = {name: image for name, image in images.items() if _fits(name, pattern)}
        if not matching:
            raise UserError(
                f"no image is called {pattern}",
                hint=f"there are {', '.join(sorted(images)[:5])}{', ...' if len(images) > 5 else ''}"
                if images
                else "there are none at all",
            )
        chosen |= matching
    return chosen


def _fits(name: str, pattern: str) -> bool:
    """Whether a pattern means an image: by all of its name, or without registry, tag, or both."""
    try:
        reference = parse_reference(name)
    except UserError:
        return fnmatchcase(name, pattern)
    path = name.removeprefix(f"{reference.registry}/")
    return any(fnmatchcase(each, pattern) for each in (name, path, reference.name, reference.repository))
