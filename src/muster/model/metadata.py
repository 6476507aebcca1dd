# SPDX-License-Identifier: Apache-2.0
"""The part that all Kubernetes-style objects share: name, namespace, labels and annotations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from muster.model.schema import Model, table, value
from muster.model.tree import Node
from muster.model.values import FREE, TEXT

_OF_KUBERNETES: Final = "Written by Kubernetes into objects that it holds; has no meaning here."


class Metadata(Model):
    """Name and labels of an object."""

    alone = ("name", "[a-z0-9.-]+")

    name: str | None = value(
        TEXT, "Name of the object; in install-config.yaml the name of the cluster.", example="site1"
    )
    namespace: str | None = value(TEXT, "Namespace of the object.", default="empty")
    labels: Mapping[str, str] = table(TEXT, "Labels that selectors match.")
    annotations: Mapping[str, str] = table(TEXT, "Further settings by name.")
    creation_timestamp: Node | None = value(FREE, _OF_KUBERNETES)
    uid: Node | None = value(FREE, _OF_KUBERNETES)
    generation: Node | None = value(FREE, _OF_KUBERNETES)
    resource_version: Node | None = value(FREE, _OF_KUBERNETES)
    finalizers: Node | None = value(FREE, _OF_KUBERNETES)
    owner_references: Node | None = value(FREE, _OF_KUBERNETES)
    managed_fields: Node | None = value(FREE, _OF_KUBERNETES)
