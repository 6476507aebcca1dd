# SPDX-License-Identifier: Apache-2.0
"""openshift/: every document is an object that the cluster can create, and each of them is there once."""

from __future__ import annotations

from collections.abc import Iterator

from muster.model.problem import Place, Problem, problem
from muster.model.site import Site
from muster.model.tree import Map, Node, Scalar, Sequence


def check_extra_manifests(site: Site) -> Iterator[Problem]:
    """Every document of openshift/ is an object, and no two are the same one."""
    seen: dict[tuple[str, str, str], Place] = {}
    for manifest in site.extra_manifests:
        for document in manifest.documents:
            if isinstance(document, Map):
                yield from _check_object(document, seen)
            else:
                found = "a list" if isinstance(document, Sequence) else "a single value"
                yield problem("extra-manifest-not-an-object", Place.start_of(document), found=found)


def _check_object(document: Map, seen: dict[tuple[str, str, str], Place]) -> Iterator[Problem]:
    metadata = document.get("metadata")
    kind, name = _text(document, "kind"), _text(metadata, "name")
    required = {"apiVersion": _text(document, "apiVersion"), "kind": kind}
    if not kind.endswith("List"):
        required["metadata.name"] = name
    missing = [key for key, value in required.items() if not value]
    if missing:
        yield problem("extra-manifest-incomplete", Place.start_of(document), missing=" and ".join(missing))
        return
    if not name:
        return
    at = Place.of(metadata.items["name"]) if isinstance(metadata, Map) else Place.start_of(document)
    first = seen.setdefault((kind, _text(metadata, "namespace"), name), at)
    if first is not at:
        yield problem("extra-manifest-twice", at, kind=kind, name=name, where=first.where)


def _text(node: Node | None, key: str) -> str:
    found = node.get(key) if isinstance(node, Map) else None
    return found.text if isinstance(found, Scalar) else ""
