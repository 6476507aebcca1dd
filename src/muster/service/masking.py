# SPDX-License-Identifier: Apache-2.0
"""What the service knows, for eyes that may not see secrets: a terminal, a ticket, a support bundle."""

from __future__ import annotations

import re
from typing import Any, Final, TypeVar

import msgspec

from muster.redact import MASK, redact, redact_links, redact_url
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
        "command_line",
        "properties",
        "tang_servers",
    }
)
_LINKS: Final = frozenset({"download_url", "expires_at"})
"""Signed addresses of media, which carry a pull secret and the token of hosts."""
_URLS: Final = frozenset({"http_proxy", "https_proxy", "url", "tang_url"})
_ERRORS: Final = frozenset({"download_error", "reason"})
"""Texts that quote URLs."""
_JSON: Final = frozenset({"api_vip_connectivity", "tang_connectivity"})
"""JSON in a string, with URLs in it."""
_COMMAND_LINE: Final = re.compile(r'("command_line":)"(?:[^"\\]|\\.)*"')
"""In an inventory, which is too long to be decoded for each viewer."""
S = TypeVar("S", bound=msgspec.Struct)


def mask_subject(subject: Subject) -> dict[str, Any]:
    """A cluster, host or infra-env as data for JSON, without its secrets; that there is one can be seen."""
    body: dict[str, Any] = msgspec.to_builtins(subject, str_keys=True)
    # A cluster's or infra-env's type has no name of its own in its fields; a host's kind is the interface's.
    return {"kind": kind_of(subject)} | {
        name: _mask(name, value) for name, value in body.items() if name != "kind"
    }


def mask_shown(body: S) -> S:
    """A wire object for callers who may only look: what may hold secrets is left out, at any depth."""
    hidden: dict[str, Any] = {}
    for name in body.__struct_fields__:
        value = getattr(body, name)
        masked = _mask_shown(name, value)
        if masked is not value:
            hidden[name] = masked
    return msgspec.structs.replace(body, **hidden) if hidden else body


def _mask_shown(name: str, value: Any) -> Any:
    if not value:
        return value
    if name in _HIDDEN or name in _LINKS:
        return None
    if isinstance(value, msgspec.Struct):
        return mask_shown(value)
    if isinstance(value, tuple):
        masked = tuple(_mask_shown(name, each) for each in value)
        return masked if any(one is not other for one, other in zip(masked, value, strict=True)) else value
    if not isinstance(value, str):
        return value
    if name in _JSON:
        return msgspec.json.encode(_mask(name, msgspec.json.decode(value))).decode()
    if name == "inventory":
        return _COMMAND_LINE.sub(rf'\1"{MASK}"', value)
    return _mask_url(name, value)


def _mask(name: str, value: Any) -> Any:
    if name in _HIDDEN:
        return MASK if value else value
    if isinstance(value, dict):
        return {key: _mask(key, each) for key, each in value.items()}
    if isinstance(value, list):
        return [_mask(name, each) for each in value]
    if isinstance(value, str):
        masked = _mask_url(name, value)
        return redact(value) if masked is value else masked
    return value


def _mask_url(name: str, text: str) -> str:
    """A text without login and tokens, if its field holds a URL or quotes one; else the text itself."""
    if name in _URLS:
        return redact_links(redact_url(text))
    return redact_links(text) if name in _ERRORS else text
