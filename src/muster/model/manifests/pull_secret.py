# SPDX-License-Identifier: Apache-2.0
"""pull-secret.yaml: the credentials that images are pulled with."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Final

from muster.model.metadata import Metadata
from muster.model.schema import Model, nested, table, value
from muster.model.values import BOOLEAN, SECRET, TEXT, Secret

DOCKER_CONFIG: Final = ".dockerconfigjson"
"""The key that the credentials stand under."""


class PullSecret(Model):
    """The credentials of image registries, as a Kubernetes Secret."""

    api_version: str | None = value(TEXT, "Version of this object's format: v1.", example="v1")
    kind: str | None = value(TEXT, "Always Secret.", example="Secret")
    metadata: Metadata | None = value(nested(Metadata), "Name of the object.")
    type: str | None = value(
        TEXT, "What the secret holds.", default="Opaque", example="kubernetes.io/dockerconfigjson"
    )
    string_data: Mapping[str, Secret] = table(
        SECRET, "The credentials as JSON text, under the key .dockerconfigjson."
    )
    data: Mapping[str, Secret] = table(SECRET, "The same in base64; stringData wins.")
    immutable: bool | None = value(
        BOOLEAN, "Whether the object can be changed once it exists.", default="false"
    )

    def find_logins(self) -> tuple[str, Secret | None] | None:
        """The field that holds the credentials, and what it says, if that can be read."""
        if DOCKER_CONFIG in self.string_data:
            return "string_data", self.string_data[DOCKER_CONFIG]
        if DOCKER_CONFIG in self.data:
            return "data", _decoded(self.data[DOCKER_CONFIG])
        return None


def _decoded(secret: Secret) -> Secret | None:
    try:
        return Secret(base64.b64decode("".join(secret.reveal().split()), validate=True).decode())
    except ValueError:
        return None
