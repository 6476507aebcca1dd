# SPDX-License-Identifier: Apache-2.0
"""Whether the cluster that this host is to join hands out its configuration, and what matters of it."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from muster.agent.steps.outcome import Outcome, read, reply
from muster.agent.steps.web import NotFetched, Request, fetch, tell
from muster.machine import Machine
from muster.model.wire.reports import ApiVipConnectivityResponse
from muster.model.wire.steps import ApiVipConnectivityRequest

_ACCEPT: Final = "application/vnd.coreos.ignition+json; version=3.2.0"
_FILES: Final = frozenset(
    {
        "/etc/kubernetes/manifests/coredns.yaml",
        "/etc/kubernetes/manifests/keepalived.yaml",
        "/etc/kubernetes/kubeconfig",
    }
)
"""They tell who looks after the cluster's addresses, and by which name its API is known."""


async def run(machine: Machine, args: Sequence[str]) -> Outcome:  # noqa: ARG001
    """The step."""
    request = read(args, ApiVipConnectivityRequest)
    try:
        ignition = parse_ignition(await fetch(make_request(request)))
    except NotFetched as error:
        failed = ApiVipConnectivityResponse(is_success=False, url=request.url, download_error=str(error))
        return reply(failed)
    return reply(ApiVipConnectivityResponse(is_success=True, url=request.url, ignition=ignition))


def make_request(request: ApiVipConnectivityRequest) -> Request:
    """What is fetched, as Ignition would."""
    headers = {"Accept": _ACCEPT}
    headers |= {each.key: each.value or "" for each in request.request_headers or () if each.key}
    if request.ignition_endpoint_token:
        headers["Authorization"] = f"Bearer {request.ignition_endpoint_token}"
    return Request(request.url, headers, parse_authorities(request.ca_certificate or ""))


def parse_authorities(text: str) -> str:
    """Certificates as PEM, from base64 or as they are."""
    if not text or "-----BEGIN" in text:
        return text
    try:
        return base64.b64decode(text, validate=True).decode("ascii")
    except (binascii.Error, ValueError) as error:
        raise NotFetched(f"the certificate authority cannot be read: {error}") from error


def parse_ignition(body: bytes) -> str:
    """Those parts of a configuration that matter before a host joins: encrypted volumes and a few files."""
    try:
        config = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        raise NotFetched(f"what came is no Ignition: {tell(body)}") from None
    version = _get(_get(config, "ignition"), "version")
    if not isinstance(version, str) or not version:
        raise NotFetched(f"what came is no Ignition, it has no version: {tell(body)}")
    storage = _get(config, "storage")
    files, luks = _get(storage, "files"), _get(storage, "luks")
    kept: dict[str, Any] = {}
    if isinstance(luks, list) and luks:
        kept["luks"] = luks
    if isinstance(files, list) and (some := [each for each in files if _get(each, "path") in _FILES]):
        kept["files"] = some
    return msgspec.json.encode({"ignition": {"version": version}, "storage": kept}).decode()


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None
