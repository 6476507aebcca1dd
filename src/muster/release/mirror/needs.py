# SPDX-License-Identifier: Apache-2.0
"""The images that belong to a copy of a release, and who needs each of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from muster.config.formats.images import image_fault
from muster.errors import UserError, cannot
from muster.frozen import dataclass
from muster.model.bounded_yaml import UNREADABLE, load_documents, reason_of
from muster.release.oci.digest import hex_of
from muster.release.oci.reference import Reference, parse_reference

_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")
_RELATED: Final = "RELATED_IMAGE_"
_MOST_DEEP: Final = 100


@dataclass(frozen=True)
class Need:
    """An image, and who needs it."""

    image: Reference
    needed_by: tuple[str, ...]
    tag: str = ""
    """What it is called in the copy besides its digest, so that no registry takes it for a leftover."""


def merge_needs(needs: Iterable[Need]) -> tuple[Need, ...]:
    """Each image once, with all who need it, in the order of the first mention."""
    found: dict[tuple[str, str], Need] = {}
    for need in needs:
        key = (need.image.name, need.image.wanted)
        known = found.get(key)
        who = (*known.needed_by, *need.needed_by) if known else need.needed_by
        image, tag = (known.image, known.tag or need.tag) if known else (need.image, need.tag)
        found[key] = Need(image, tuple(dict.fromkeys(who)), tag)
    return tuple(found.values())


def settle_tags(needs: Iterable[Need]) -> tuple[Need, ...]:
    """The same images, none of which takes a tag from another one of its repository."""
    found = tuple(needs)
    taken: dict[tuple[str, str], Reference] = {}
    settled = []
    for need in found:
        tag = need.tag or need.image.tag
        holder = taken.setdefault((need.image.repository, tag), need.image)
        if tag and holder.wanted != need.image.wanted and need.image.digest:
            need = replace(need, tag=f"{tag[:100]}-{hex_of(need.image.digest)[:12]}")  # noqa: PLW2901
        settled.append(need)
    return tuple(settled)


def load_needs(path: Path) -> tuple[Need, ...]:
    """The images that the manifests of a file name."""
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not text in UTF-8", hint="name a file with manifests in YAML") from error
    except OSError as error:
        raise cannot("read", path, error) from error
    return parse_needs(text, str(path))


def parse_needs(text: str, origin: str) -> tuple[Need, ...]:
    """The images that manifests in YAML name, whatever kind they are of."""
    try:
        documents = load_documents(text)
    except UNREADABLE as error:
        raise UserError(
            f"{origin} cannot be read: {reason_of(error)}", hint="fix it, or leave it out of --manifests"
        ) from error
    seen: set[int] = set()
    return merge_needs(
        need for document in documents for need in _scan(document, _who(document, origin), seen, 0)
    )


def _who(document: Any, origin: str) -> str:
    """An object by kind and name, as people know it."""
    if not isinstance(document, dict):
        return origin
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return f"{document.get('kind')} {name} in {origin}" if name else f"{document.get('kind')} in {origin}"


def _scan(body: Any, who: str, seen: set[int], depth: int) -> Iterator[Need]:
    """All images below a value. Lists of kind List hold objects of their own."""
    if depth > _MOST_DEEP:
        raise UserError(f"{who} is nested too deeply", hint="leave it out of --manifests")
    if id(body) in seen:
        return  # An alias: a few lines of YAML can stand for more values than there is time.
    if isinstance(body, (list, dict)):
        seen.add(id(body))
    if isinstance(body, list):
        for each in body:
            whose = _who(each, who.rpartition(" in ")[2]) if _is_object(each) else who
            yield from _scan(each, whose, seen, depth + 1)
    elif isinstance(body, dict):
        yield from _here(body, who)
        for value in body.values():
            yield from _scan(value, who, seen, depth + 1)


def _is_object(body: Any) -> bool:
    return isinstance(body, dict) and "apiVersion" in body and "kind" in body


def _here(body: Mapping[Any, Any], who: str) -> Iterator[Need]:
    for container in (each for key in _CONTAINERS for each in _list(body.get(key))):
        if isinstance(container, dict) and isinstance(container.get("image"), str):
            yield _strict(container["image"], who)
    name, value = body.get("name"), body.get("value")
    if isinstance(name, str) and name.startswith(_RELATED) and isinstance(value, str):
        yield from _lenient(value, who)
    for key, value in body.items():
        if isinstance(key, str) and isinstance(value, str) and (key == "image" or key.endswith("Image")):
            yield from _lenient(value, who)


def _strict(image: str, who: str) -> Need:
    """What a pod runs has to be found, whatever it is called."""
    fault = image_fault(image)
    if fault:
        raise UserError(
            f"{who} runs {image[:200]!r}, which cannot be mirrored: {fault}",
            hint="write the whole name of the image, with its registry",
        )
    return Need(parse_reference(image), (who,))


def _lenient(image: str, who: str) -> Iterator[Need]:
    """A field that is called like one with an image, and has one; others mean something else."""
    if not image_fault(image):
        yield Need(parse_reference(image), (who,))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
