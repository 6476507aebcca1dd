# SPDX-License-Identifier: Apache-2.0
"""The release as text: release.json, written and read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from muster.errors import MediaError, MusterError, UserError
from muster.release.fields import Fields
from muster.release.model import (
    AddOn,
    Component,
    Condition,
    ConditionKind,
    Manifest,
    Needs,
    Release,
    ReleaseImage,
)
from muster.release.oci.digest import Digest, parse_digest
from muster.release.oci.manifest import Descriptor
from muster.release.oci.reference import parse_reference

SCHEMA: Final = 1
_T = TypeVar("_T")


def render_release(release: Release) -> bytes:
    """The same bytes for the same release."""
    body = {
        "schema": SCHEMA,
        "kind": release.kind,
        "version": release.version,
        "os": release.os,
        "architecture": release.architecture,
        "name": release.name,
        "created": release.created,
        "madeWith": {"muster": release.muster, "go": release.go, "zstd": release.zstd},
        "components": [_component(each) for each in release.components],
        "images": [_image(each) for each in release.images],
        "addOns": [_add_on(each) for each in release.add_ons],
    }
    return json.dumps(body, indent=1, ensure_ascii=False).encode() + b"\n"


def parse_release(data: bytes, origin: str) -> Release:
    """Read release.json; ``origin`` names it in messages. Fields that are not known are left alone."""

    def fault(why: str) -> MusterError:
        return MediaError(
            f"the release in {origin} cannot be used: {why}",
            hint="get it again from where it came, or build it with `muster release build`",
        )

    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise fault("it is not JSON") from error
    fields = Fields(body, "", fault)
    schema = fields.number("schema")
    if schema != SCHEMA:
        raise fault(f"its form has the number {schema}, this Muster reads {SCHEMA}")
    try:
        release = _release(fields)
    except UserError as error:
        raise fault(error.message) from error
    _check_ids(release, fault)
    return release


def _release(fields: Fields) -> Release:
    made_with = fields.table("madeWith")
    return Release(
        kind=fields.text("kind"),
        version=fields.text("version"),
        architecture=fields.text("architecture"),
        name=fields.text("name"),
        created=fields.text("created"),
        muster=made_with.text("muster"),
        go=made_with.text("go"),
        zstd=made_with.text("zstd"),
        components=tuple(map(_parse_component, fields.tables("components"))),
        images=tuple(map(_parse_image, fields.tables("images"))),
        add_ons=tuple(map(_parse_add_on, fields.tables("addOns"))),
        os=fields.text("os"),
    )


def _check_ids(release: Release, fault: Callable[[str], MusterError]) -> None:
    """What refers to something else leads somewhere, and each id to one thing."""
    for what, ids in (
        ("component", [each.id for each in release.components]),
        ("image", [each.id for each in release.images]),
        ("add-on", [each.id for each in release.add_ons]),
    ):
        for id in ids:
            if ids.count(id) > 1:
                raise fault(f"it has two {what}s {id!r}")
    images = {each.id for each in release.images}
    components = {each.id for each in release.components}
    for image in release.images:
        for id in image.components:
            if id not in components:
                raise fault(f"the image {image.id!r} is of a component {id!r}, which it has not")
    for add_on in release.add_ons:
        for id in add_on.images:
            if id not in images:
                raise fault(f"the add-on {add_on.id!r} needs an image {id!r}, which it has not")


def _component(component: Component) -> dict[str, Any]:
    return _without_empty(
        {
            "id": component.id,
            "name": component.name,
            "version": component.version,
            "licence": component.licence,
            "program": component.program,
            "digest": component.digest,
            "sizeBytes": component.size_bytes,
            "module": component.module,
            "sum": component.sum,
            "source": component.source,
            "changes": component.changes,
        }
    )


def _parse_component(fields: Fields) -> Component:
    return Component(
        id=fields.text("id"),
        name=fields.text("name"),
        version=fields.text("version"),
        licence=fields.text("licence"),
        program=fields.text("program"),
        digest=_digest(fields, "digest"),
        size_bytes=fields.number("sizeBytes"),
        module=fields.text("module", ""),
        sum=fields.text("sum", ""),
        source=fields.text("source", ""),
        changes=fields.text("changes", ""),
    )


def _image(image: ReleaseImage) -> dict[str, Any]:
    return {
        "id": image.id,
        "image": image.pullspec,
        "tag": image.tag,
        "manifest": image.image.render(),
        "sizeBytes": image.size_bytes,
        "components": list(image.components),
        "description": image.description,
    }


def _parse_image(fields: Fields) -> ReleaseImage:
    reference = parse_reference(fields.text("image"))
    manifest = fields.table("manifest")
    found = Descriptor(manifest.text("mediaType"), _digest(manifest, "digest"), manifest.number("size"))
    if reference.digest != found.digest:
        raise fields.wrong("image", "has not the digest of its manifest")
    return ReleaseImage(
        id=fields.text("id"),
        name=reference.name,
        tag=fields.text("tag"),
        image=found,
        size_bytes=fields.number("sizeBytes"),
        components=fields.texts("components"),
        description=fields.text("description", ""),
    )


def _add_on(add_on: AddOn) -> dict[str, Any]:
    return {
        "id": add_on.id,
        "name": add_on.name,
        "version": add_on.version,
        "bundle": add_on.bundle,
        "description": add_on.description,
        "images": list(add_on.images),
        "requirements": {"host": _needs(add_on.host), "cluster": _needs(add_on.cluster)},
        "dependencies": list(add_on.dependencies),
        "conflicts": list(add_on.conflicts),
        "ready": [_condition(each) for each in add_on.ready],
        "manifests": [{"name": each.name, "text": each.text} for each in add_on.manifests],
    }


def _parse_add_on(fields: Fields) -> AddOn:
    requirements = fields.table("requirements")
    return AddOn(
        id=fields.text("id"),
        name=fields.text("name"),
        version=fields.text("version"),
        bundle=fields.text("bundle"),
        description=fields.text("description"),
        images=fields.texts("images"),
        manifests=_all(
            fields.tables("manifests"), lambda each: Manifest(each.text("name"), each.text("text"))
        ),
        host=_parse_needs(requirements.table("host")),
        cluster=_parse_needs(requirements.table("cluster")),
        dependencies=fields.texts("dependencies"),
        conflicts=fields.texts("conflicts"),
        ready=_all(fields.tables("ready"), parse_condition),
    )


def _needs(needs: Needs) -> dict[str, int]:
    return {
        "cpuMillicores": needs.cpu_millicores,
        "memoryMiB": needs.memory_mib,
        "diskMiB": needs.disk_mib,
    }


def _parse_needs(fields: Fields) -> Needs:
    return Needs(*(fields.number(name) for name in ("cpuMillicores", "memoryMiB", "diskMiB")))


def _condition(condition: Condition) -> dict[str, str]:
    return _without_empty(
        {"kind": str(condition.kind), "namespace": condition.namespace, "name": condition.name}
    )


def parse_condition(fields: Fields) -> Condition:
    """A condition, as release.json and the description of an add-on have it alike."""
    text = fields.text("kind")
    try:
        kind = ConditionKind(text)
    except ValueError as error:
        raise fields.wrong("kind", f"is none of {', '.join(ConditionKind)}") from error
    namespace = fields.text("namespace", "")
    if kind.is_namespaced != bool(namespace):
        raise fields.wrong("namespace", "is needed" if kind.is_namespaced else "is not needed")
    return Condition(kind, fields.text("name"), namespace)


def _digest(fields: Fields, name: str) -> Digest:
    try:
        return parse_digest(fields.text(name))
    except UserError as error:
        raise fields.wrong(name, "is not a digest") from error


def _all(tables: Iterable[Fields], parse: Callable[[Fields], _T]) -> tuple[_T, ...]:
    return tuple(parse(each) for each in tables)


def _without_empty(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value != ""}
