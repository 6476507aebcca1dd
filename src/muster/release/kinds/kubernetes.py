# SPDX-License-Identifier: Apache-2.0
"""Releases of upstream Kubernetes, built by Muster: their image has one file that tells all (`text.py`)."""

from __future__ import annotations

from typing import Final

from muster.release.kinds.description import Content, Description, LiveImage, Offer, Part
from muster.release.model import RELEASE_FILE, Release
from muster.release.oci.reference import Reference, parse_reference
from muster.release.text import parse_release

NAME: Final = "kubernetes"


class Kubernetes:
    """Reads releases of Kubernetes."""

    name = NAME
    files = (RELEASE_FILE,)
    mark = RELEASE_FILE

    def describe(self, content: Content) -> Description:
        release = parse_release(content.files[RELEASE_FILE], str(content.image))
        return describe_release(release, content.image)

    def live_image(
        self,
        release: Description,  # noqa: ARG002
        stream: str,  # noqa: ARG002
        architecture: str,  # noqa: ARG002
    ) -> LiveImage | None:
        """Its hosts boot the machine OS, which is not one of its images."""
        return None


def describe_release(release: Release, image: Reference) -> Description:
    """What all kinds have in common, of a release that was read."""
    whose = {id: add_on.id for add_on in release.add_ons for id in add_on.images}
    versions = {component.id: component.version for component in release.components}
    parts = (
        Part(
            each.id,
            parse_reference(each.pullspec),
            each.tag,
            {id: versions[id] for id in each.components},
            whose.get(each.id, ""),
        )
        for each in release.images
    )
    offers = (
        Offer(each.id, each.name, each.description, (each.bundle,), each.dependencies, each.conflicts)
        for each in release.add_ons
    )
    return Description(
        release.kind, release.version, image, (release.architecture,), tuple(parts), tuple(offers)
    )
