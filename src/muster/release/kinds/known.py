# SPDX-License-Identifier: Apache-2.0
"""All kinds of releases, and which of them an image is."""

from __future__ import annotations

from typing import Final

from muster.errors import UserError
from muster.release.kinds.description import Content, Description, Kind
from muster.release.kinds.kubernetes import Kubernetes
from muster.release.kinds.openshift import OpenShift

KINDS: Final[tuple[Kind, ...]] = (Kubernetes(), OpenShift())
FILES: Final = tuple(name for kind in KINDS for name in kind.files)
"""All that is read out of a release image before it is known what kind it is of."""


def describe_content(content: Content) -> Description:
    """What a release image says of itself; its kind is found by what it contains."""
    for kind in KINDS:
        if kind.mark in content.files:
            return kind.describe(content)
    marks = " nor ".join(f"/{kind.mark}" for kind in KINDS)
    raise UserError(
        f"{content.image} is not a release: it has neither {marks}",
        hint="name the image that lists all others, such as registry.example.com/ocp/release:4.22.0-x86_64",
    )


def kind_of(release: Description) -> Kind:
    """The kind that a release is of."""
    return next(kind for kind in KINDS if kind.name == release.kind)
