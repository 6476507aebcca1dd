# SPDX-License-Identifier: Apache-2.0
"""Manifests, events and errors."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta

from muster.model.wire.struct import Wire


class CreateManifestParams(Wire):
    """TODO"""

    file_name: str
    content: str
    folder: Literal["manifests", "openshift"] | None = None


class Error(Wire):
    """TODO"""

    kind: Literal["Error"]
    id: Annotated[int, Meta(le=504, ge=400)]
    href: str
    code: str
    reason: str


class Event(Wire):
    """TODO"""

    severity: Literal["info", "warning", "error", "critical"]
    message: str
    event_time: datetime
    name: str | None = None
    cluster_id: str | None = None
    host_id: str | None = None
    infra_env_id: str | None = None
    category: Literal["user", "metrics"] | None = None
    request_id: str | None = None
    props: str | None = None


class InfraError(Wire):
    """TODO"""

    code: Annotated[int, Meta(le=403, ge=401)]
    message: str


class Manifest(Wire):
    """TODO"""

    folder: Literal["manifests", "openshift"] | None = None
    file_name: str | None = None
    manifest_source: Literal["user", "system"] | None = None


class UpdateManifestParams(Wire):
    """TODO"""

    folder: Literal["manifests", "openshift"]
    file_name: str
    updated_folder: Literal["manifests", "openshift"] | None = None
    updated_file_name: str | None = None
    updated_content: str | None = None
