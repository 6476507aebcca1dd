# SPDX-License-Identifier: Apache-2.0
"""Manifests, events and errors."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from muster.model.wire.struct import Json, Time, Wire, about


class CreateManifestParams(Wire, frozen=True, kw_only=True):
    """A new manifest."""

    file_name: str
    content: Annotated[str, about("YAML or JSON, in base64.")]
    folder: Literal["manifests", "openshift"] | None = None


class Error(Wire, frozen=True, kw_only=True):
    """Why a request was refused."""

    kind: Literal["Error"]
    id: Annotated[int, Meta(description="The HTTP status.", le=504, ge=400)]
    href: str
    code: Annotated[str, about("The HTTP status as a string.")]
    reason: Annotated[str, about("What is wrong, and what to do.")]
    hint: Annotated[str, about("Of that, what to do.")] = ""


class Event(Wire, frozen=True, kw_only=True):
    """Something that happened."""

    severity: Literal["info", "warning", "error", "critical"]
    message: str
    event_time: Time
    name: Annotated[str | None, about("What kind of event it is; a name keeps its meaning.")] = None
    cluster_id: str | None = None
    host_id: str | None = None
    infra_env_id: str | None = None
    category: Literal["user", "metrics"] | None = None
    request_id: str | None = None
    props: Json = None


class InfraError(Wire, frozen=True, kw_only=True):
    """Why a caller was not let in."""

    code: Annotated[int, Meta(le=403, ge=401)]
    message: str


class Manifest(Wire, frozen=True, kw_only=True):
    """A manifest of a cluster, without its content."""

    folder: Literal["manifests", "openshift"] | None = None
    file_name: str | None = None
    manifest_source: Literal["user", "system"] | None = None


class UpdateManifestParams(Wire, frozen=True, kw_only=True):
    """What is to change in a manifest; what is not given stays."""

    folder: Literal["manifests", "openshift"]
    file_name: str
    updated_folder: Literal["manifests", "openshift"] | None = None
    updated_file_name: str | None = None
    updated_content: Annotated[str | None, about("YAML or JSON, in base64.")] = None
