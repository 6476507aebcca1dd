# SPDX-License-Identifier: Apache-2.0
"""Manifests that users add to a cluster."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final, Literal, TypeAlias

from muster.model.bounded_yaml import UNREADABLE, load_request, reason_of
from muster.model.settings_support import HOST_SETTINGS_FIX, HOST_SETTINGS_REASON, asks_for_host_settings
from muster.model.wire.files import CreateManifestParams, Manifest, UpdateManifestParams
from muster.service.decisions import checks
from muster.service.realm import Draft
from muster.service.refusals import NotFound, StateConflict
from muster.service.state import Cluster

MAX_BYTES: Final = 1 << 20
Folder: TypeAlias = Literal["manifests", "openshift"]
_NAME: Final = re.compile(r"[^/\s]*\.(?:json|ya?ml(?:\.patch_?[a-zA-Z0-9_]*)?)")
_LOCKED: Final = frozenset({"preparing-for-installation", "installing", "finalizing", "installed"})


def read_manifest(name: str, content: str, kind: str) -> bytes:
    """The manifest that a call brings in base64; BadRequest when it is none.

    It takes up to seconds: do it before a decision and beside the event loop.
    """
    body = _decode(content)
    check_manifest(name, body, kind)
    return body


def check_manifest(name: str, body: bytes, kind: str) -> None:
    """BadRequest when something cannot be a manifest of that name, for a kind of release."""
    if fault := name_fault(name):
        raise checks.refuse("file_name", fault, "end it with .yaml, .yml or .json")
    _check_yaml(name, body, kind)


def create_manifest(draft: Draft, params: CreateManifestParams, body: bytes) -> Manifest:
    """Add a manifest that was read, or put another in its place."""
    return _put(draft, params.folder or "manifests", params.file_name, body)


def update_manifest(draft: Draft, params: UpdateManifestParams, body: bytes) -> Manifest:
    """Other content, which was read, another name or another folder; what is not said stays."""
    key = _key(draft, params.folder, params.file_name)
    folder, name = params.updated_folder or params.folder, params.updated_file_name or params.file_name
    made = _put(draft, folder, name, body)
    if (folder, name) != (params.folder, params.file_name):
        _drop(draft, key)
    return made


def delete_manifest(draft: Draft, folder: str, name: str) -> None:
    """Take a manifest away."""
    _check_open(draft)
    _drop(draft, _key(draft, folder, name))


def document_name(key: str) -> str:
    """Under which name the content of a manifest is kept."""
    return f"manifest/{key}"


def name_fault(name: str) -> str:
    """Why a manifest cannot be called so; empty when it can."""
    return "" if _NAME.fullmatch(name) else f"{name!r} is no name of a manifest"


def _put(draft: Draft, folder: Folder, name: str, body: bytes) -> Manifest:
    _check_open(draft)
    key = f"{folder}/{name}"
    cluster = draft.cluster
    if key not in cluster.manifests:
        draft.change(cluster, manifests=tuple(sorted({*cluster.manifests, key})))
    draft.documents[cluster.id, document_name(key)] = body
    draft.tell(cluster, "cluster_manifest_created", f"Manifest {key} was stored", manifest=key)
    return Manifest(folder=folder, file_name=name, manifest_source="user")


def _drop(draft: Draft, key: str) -> None:
    cluster = draft.cluster
    draft.change(cluster, manifests=tuple(each for each in cluster.manifests if each != key))
    draft.documents[cluster.id, document_name(key)] = None
    draft.tell(cluster, "cluster_manifest_deleted", f"Manifest {key} was removed", manifest=key)


def _key(draft: Draft, folder: str, name: str) -> str:
    key = f"{folder or 'manifests'}/{name}"
    if key not in draft.cluster.manifests:
        raise no_manifest(draft.cluster, key)
    return key


def no_manifest(cluster: Cluster, key: str) -> NotFound:
    """A cluster does not have this manifest."""
    return NotFound(f"cluster {cluster.name} has no manifest {key}", hint="list its manifests")


def _check_open(draft: Draft) -> None:
    cluster = draft.cluster
    if cluster.status in _LOCKED:
        raise StateConflict(
            f"cluster {cluster.name} is {cluster.status}: its manifests are fixed",
            hint="cancel the installation first",
        )


def _decode(content: str) -> bytes:
    try:
        body = base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise checks.refuse("content", "it is not base64", "encode the file with base64 -w0") from None
    if len(body) > MAX_BYTES:
        raise checks.refuse("content", f"it has {len(body)} bytes", f"at most {MAX_BYTES} are taken")
    if not body.strip():
        raise checks.refuse("content", "it is empty", "send a manifest")
    return body


def _check_yaml(name: str, body: bytes, kind: str) -> None:
    """JSON is YAML; a patch is a list of operations."""
    try:
        documents = [each for each in load_request(body) if each is not None]
    except UNREADABLE as error:
        raise checks.refuse("content", f"{name} cannot be read: {reason_of(error)}") from None
    wanted: type = list if ".patch" in name else dict
    if not documents or not all(isinstance(each, wanted) for each in documents):
        raise checks.refuse("content", f"{name} holds no {'patch' if wanted is list else 'object'}")
    if any(asks_for_host_settings(each, kind) for each in documents):
        raise checks.refuse("content", f"{name}: {HOST_SETTINGS_REASON}", HOST_SETTINGS_FIX)
