# SPDX-License-Identifier: Apache-2.0
"""A release as a whole: its images, its components, its add-ons, and the image that lists them all."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from muster import __version__
from muster.errors import UserError, cannot
from muster.frozen import dataclass
from muster.release.build.bill import render_bill
from muster.release.build.images import Draft, Made, make_image
from muster.release.build.kept import Built, Packed
from muster.release.build.layers import Entry, write_layer
from muster.release.build.modules import load_sums
from muster.release.build.plan import Plan
from muster.release.build.recipe import Extra, Part, Picture
from muster.release.model import (
    BILL_FILE,
    KIND_ANNOTATION,
    RELEASE_FILE,
    AddOn,
    Component,
    Manifest,
    Release,
    ReleaseImage,
)
from muster.release.oci.manifest import Descriptor
from muster.release.text import render_release

_PLACE: Final = re.compile(r"\$\{image:([^}]*)\}")
_OCI: Final = "org.opencontainers.image"


@dataclass(frozen=True)
class Whole:
    """Everything but the bytes of the layers."""

    release: Release
    images: Mapping[str, Made]
    own: Made
    """The image of the release itself."""
    own_layer: bytes

    @property
    def names(self) -> dict[str, Descriptor]:
        """What everything is called in a store."""
        named = {image.tagged: image.image for image in self.release.images}
        return {**named, self.release.tagged: self.own.manifest.descriptor}


def put_together(plan: Plan, programs: Mapping[str, Built], layers: Mapping[str, Packed]) -> Whole:
    """The release that a plan gives, out of what was built for it."""
    images = {picture.id: _make(plan, picture, layers) for picture in plan.recipe.pictures}
    release = _release(plan, programs, images)
    bill = render_bill(release, {id: built.modules for id, built in programs.items()})
    packed = io.BytesIO()
    entries = [Entry(RELEASE_FILE, render_release(release)), Entry(BILL_FILE, bill)]
    layer = write_layer(entries, packed)
    annotations = {
        KIND_ANNOTATION: release.kind,
        f"{_OCI}.title": f"{release.kind} release",
        f"{_OCI}.version": release.version,
    }
    own = make_image(Draft(plan.architecture, release.created, annotations=annotations), (layer,))
    return Whole(release, images, own, packed.getvalue())


def _make(plan: Plan, picture: Picture, layers: Mapping[str, Packed]) -> Made:
    part = plan.recipe.part(picture.component)
    annotations = {
        f"{_OCI}.title": picture.id,
        f"{_OCI}.description": picture.description,
        f"{_OCI}.version": part.version,
        f"{_OCI}.licenses": part.licence,
    }
    if part.source:
        annotations[f"{_OCI}.source"] = part.source
    draft = Draft(plan.architecture, plan.recipe.created, picture.entrypoint, picture.user, annotations)
    return make_image(draft, tuple(layers[id].layer for id in picture.layers))


def _release(plan: Plan, programs: Mapping[str, Built], images: Mapping[str, Made]) -> Release:
    recipe = plan.recipe
    listed = tuple(_image(plan, picture, images[picture.id]) for picture in recipe.pictures)
    pullspecs = {image.id: image.pullspec for image in listed}
    return Release(
        kind=recipe.kind,
        version=recipe.version,
        architecture=plan.architecture,
        name=recipe.image_name("release"),
        created=recipe.created,
        muster=__version__,
        go=plan.go,
        zstd=plan.zstd,
        components=tuple(_component(plan, part, programs[part.program]) for part in recipe.parts),
        images=listed,
        add_ons=tuple(_add_on(extra, pullspecs) for extra in recipe.extras),
    )


def _component(plan: Plan, part: Part, built: Built) -> Component:
    folder = plan.recipe.program(part.program).folder
    return Component(
        id=part.id,
        name=part.name,
        version=part.version,
        licence=part.licence,
        program=part.program,
        digest=built.digest,
        size_bytes=built.size_bytes,
        module=part.module,
        sum=find_sum(folder, part) if part.module else "",
        source=part.source,
        changes=part.changes,
    )


def find_sum(folder: Path, part: Part) -> str:
    """What go.sum says of a component's module."""
    name = f"{part.module}@{part.version}"
    found = load_sums(folder).get(name)
    if found is None:
        raise UserError(f"{folder / 'go.sum'} has no sum of {name}", hint="run `go mod tidy` there")
    return found


def _image(plan: Plan, picture: Picture, made: Made) -> ReleaseImage:
    inside = [part.id for part in plan.recipe.parts if part.program in picture.layers]
    return ReleaseImage(
        id=picture.id,
        name=plan.recipe.image_name(picture.id),
        tag=plan.tag(picture),
        image=made.manifest.descriptor,
        size_bytes=made.size_bytes,
        components=tuple(inside),
        description=picture.description,
    )


def _add_on(extra: Extra, pullspecs: Mapping[str, str]) -> AddOn:
    return AddOn(
        id=extra.id,
        name=extra.name,
        version=extra.version,
        bundle=extra.bundle,
        description=extra.description,
        images=extra.images,
        manifests=tuple(_manifest(path, pullspecs) for path in extra.manifests),
        host=extra.host,
        cluster=extra.cluster,
        dependencies=extra.dependencies,
        conflicts=extra.conflicts,
        ready=extra.ready,
    )


def _manifest(path: Path, pullspecs: Mapping[str, str]) -> Manifest:
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise cannot("read", path, error) from error
    return Manifest(path.name, fill_images(text, pullspecs, str(path)))


def fill_images(text: str, pullspecs: Mapping[str, str], where: str) -> str:
    """Put the names of images, by digest, where ``${image:ID}`` stands for them."""

    def fill(match: re.Match[str]) -> str:
        if match[1] not in pullspecs:
            raise UserError(
                f"{where} names an image {match[1]!r} that is not there", hint="mend it in payload/"
            )
        return pullspecs[match[1]]

    return _PLACE.sub(fill, text)
