# SPDX-License-Identifier: Apache-2.0
"""cluster-image-set.yaml: the release that is installed."""

from __future__ import annotations

from muster.model.metadata import Metadata
from muster.model.schema import Model, nested, value
from muster.model.tree import Node
from muster.model.values import FREE, TEXT


class ClusterImageSetSpec(Model):
    """The release that is installed."""

    release_image: str | None = value(
        TEXT,
        "Image that lists all images of the release.",
        required=True,
        example="registry.example.com/openshift/release:4.21.0-x86_64",
    )


class ClusterImageSet(Model):
    """The release that is installed, as an object that others refer to."""

    api_version: str | None = value(
        TEXT, "Version of this object's format: hive.openshift.io/v1.", example="hive.openshift.io/v1"
    )
    kind: str | None = value(TEXT, "Always ClusterImageSet.", example="ClusterImageSet")
    metadata: Metadata | None = value(nested(Metadata), "Name of the object.")
    spec: ClusterImageSetSpec | None = value(
        nested(ClusterImageSetSpec), "The release that is installed.", required=True
    )
    status: Node | None = value(FREE, "What became of the object.")
