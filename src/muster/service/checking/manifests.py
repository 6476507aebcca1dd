# SPDX-License-Identifier: Apache-2.0
"""A manifest: whether it is YAML, small enough, and made of objects that Kubernetes takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final

from muster.config.document.parse import parse_yaml
from muster.model.bounded_yaml import MAX_REQUEST_NODES, UNREADABLE, load_request, reason_of
from muster.model.problem import in_order
from muster.model.settings_support import HOST_SETTINGS_FIX, HOST_SETTINGS_REASON, asks_for_host_settings
from muster.model.tree import Source
from muster.model.wire.struct import Wire, about
from muster.service.checking.finding import Finding, make_finding
from muster.service.decisions.manifests import MAX_BYTES, name_fault

MAX_FINDINGS: Final = 200


class ManifestToCheck(Wire, frozen=True, kw_only=True):
    """A manifest as it is written."""

    file_name: str
    content: Annotated[str, about("The text itself.")]


class ManifestObject(Wire, frozen=True, kw_only=True):
    """An object that a manifest makes."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""


class ManifestReport(Wire, frozen=True, kw_only=True):
    """What is wrong with a manifest, and what is in it."""

    valid: bool
    problems: tuple[Finding, ...] = ()
    documents: tuple[ManifestObject, ...] = ()


def check_manifest(wanted: ManifestToCheck, kind: str) -> ManifestReport:
    """Everything that is wrong with a manifest, for a kind of release."""
    problems = list(_manifest_faults(wanted))
    documents: tuple[ManifestObject, ...] = ()
    if not problems:
        bodies, problems = _load(wanted)
        documents = tuple(_object(each) for each in bodies if isinstance(each, dict))
        problems += _object_faults(documents, is_patch=".patch" in wanted.file_name)
        if any(asks_for_host_settings(each, kind) for each in bodies):
            problems.append(Finding(severity="error", message=HOST_SETTINGS_REASON, fix=HOST_SETTINGS_FIX))
    return ManifestReport(
        valid=all(each.severity != "error" for each in problems),
        problems=tuple(problems),
        documents=documents,
    )


def _manifest_faults(wanted: ManifestToCheck) -> Iterator[Finding]:
    if fault := name_fault(wanted.file_name):
        yield Finding(severity="error", message=f"file name: {fault}", fix="call it like my-config.yaml")
    size = len(wanted.content.encode("utf-8", "replace"))
    if size > MAX_BYTES:
        yield Finding(
            severity="error", message=f"it has {size} bytes", fix=f"at most {MAX_BYTES} are taken; split it"
        )
        return
    _, problems = parse_yaml(Source(wanted.file_name or "manifest", wanted.content), MAX_REQUEST_NODES)
    found = in_order(problems)
    for each in found[:MAX_FINDINGS]:
        line, column = each.place.position
        yield make_finding(each, line, column)
    if len(found) > MAX_FINDINGS:
        yield Finding(
            severity="error",
            message=f"more than {MAX_FINDINGS} problems were found; only the first ones are shown",
            fix="fix these, and check the manifest again",
        )


def _load(wanted: ManifestToCheck) -> tuple[list[Any], list[Finding]]:
    """The documents of a manifest, and what is wrong with them."""
    try:
        loaded = load_request(wanted.content)
    except UNREADABLE as error:
        message = f"it is not YAML that Kubernetes reads: {reason_of(error)}"
        return [], [Finding(severity="error", message=message, fix="write plain YAML")]
    bodies = [each for each in loaded if each is not None]
    return bodies, list(_kind_faults(bodies, len(loaded), wanted))


def _kind_faults(bodies: Sequence[Any], count: int, wanted: ManifestToCheck) -> Iterator[Finding]:
    kind: type = list if ".patch" in wanted.file_name else dict
    if not bodies:
        yield Finding(
            severity="error", message="nothing is in it", fix="write an object of Kubernetes", line=1
        )
    elif not all(isinstance(each, kind) for each in bodies):
        what = (
            "a patch, which is a list of operations"
            if kind is list
            else "an object, with apiVersion and kind"
        )
        yield Finding(
            severity="error", message=f"one of its {count} documents is not {what}", fix=f"write {what}"
        )


def _object(body: dict[str, Any]) -> ManifestObject:
    metadata = body.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    return ManifestObject(
        api_version=_word(body.get("apiVersion")),
        kind=_word(body.get("kind")),
        name=_word(named.get("name") or named.get("generateName")),
        namespace=_word(named.get("namespace")),
    )


def _word(value: object) -> str:
    return value if isinstance(value, str) else ""


def _object_faults(documents: Sequence[ManifestObject], *, is_patch: bool) -> Iterator[Finding]:
    """What the cluster would refuse, half an hour later."""
    for number, each in enumerate(documents, 1):
        missing = [
            name
            for name, value in (
                ("apiVersion", each.api_version),
                ("kind", each.kind),
                ("metadata.name", each.name),
            )
            if not value and not (name == "metadata.name" and each.kind.endswith("List"))
        ]
        if missing and not is_patch:
            which = f"document {number}" if len(documents) > 1 else "the object"
            yield Finding(
                severity="error",
                message=f"{which} has no {', '.join(missing)}",
                why="Kubernetes refuses an object without it, and the cluster would lack this one.",
                fix="add what is missing",
            )
