# SPDX-License-Identifier: Apache-2.0
"""What the service knows, for eyes that may not see secrets: a terminal, a ticket, a support bundle."""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec

from muster.redact import MASK, redact, redact_url
from muster.service.state import Subject, kind_of

_HIDDEN: Final = frozenset(
    {
        "pull_secret",
        "signing_key",
        "ignition_endpoint_token",
        "ignition_endpoint_http_headers",
        "fencing_credentials",
        # Texts of users in which anything may stand.
        "ignition_config_override",
        "ignition_config_overrides",
        "install_config_overrides",
        "static_network_config",
        "installer_args",
        "kernel_arguments",
    }
)
_LINKS: Final = frozenset({"download_url", "expires_at"})
"""Signed addresses of media, which carry a pull secret and the token of hosts."""
S = TypeVar("S", bound=msgspec.Struct)
_PROXIES: Final = frozenset({"http_proxy", "https_proxy"})


def mask_subject(subject: Subject) -> dict[str, Any]:
    """A cluster, host or infra-env as data for JSON, without its secrets; that there is one can be seen."""
    body: dict[str, Any] = msgspec.to_builtins(subject, str_keys=True)
    # A cluster's or infra-env's type has no name of its own in its fields; a host's kind is the interface's.
    return {"kind": kind_of(subject)} | {
        name: _mask(name, value) for name, value in body.items() if name != "kind"
    }


def mask_shown(body: S) -> S:
    """A wire object for callers who may only look: what may hold some is left out."""
    hidden: dict[str, Any] = {name: None for name in _HIDDEN | _LINKS if getattr(body, name, None)}
    for name in _PROXIES:
        if text := getattr(body, name, None):
            hidden[name] = redact_url(text)
    if hosts := getattr(body, "hosts", None):
        hidden["hosts"] = tuple(mask_shown(host) for host in hosts)
    if isinstance(proxy := getattr(body, "proxy", None), msgspec.Struct):
        hidden["proxy"] = mask_shown(proxy)
    return msgspec.structs.replace(body, **hidden) if hidden else body


def _mask(name: str, value: Any) -> Any:
    if name in _HIDDEN:
        return MASK if value else value
    if isinstance(value, dict):
        return {key: _mask(key, each) for key, each in value.items()}
    if isinstance(value, list):
        return [_mask(name, each) for each in value]
    if isinstance(value, str):
        return redact_url(value) if name in _PROXIES else redact(value)
    return value
