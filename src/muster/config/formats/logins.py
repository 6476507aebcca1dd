# SPDX-License-Identifier: Apache-2.0
"""Pull secrets: the logins of image registries as JSON. Nothing here ever quotes from one."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, Final

from muster.config.formats.images import covers, registry_fault
from muster.frozen import dataclass

_FILE_NAME: Final = re.compile(r"(?:file:|[~.]{0,2}/)\S+\Z|\S+\.(?:json|txt)\Z")
_PLACEHOLDER: Final = re.compile(
    r"[<{\[(]?\s*(?:your|my|insert|replace|add|paste|todo|\.\.\.|x{3,})", re.IGNORECASE
)
_SCHEME: Final = re.compile(r"\Ahttps?://")


@dataclass(frozen=True)
class Fault:
    """A rule that a pull secret breaks, and the values that its words take."""

    slug: str
    values: Mapping[str, str] = field(default_factory=dict)


def registries_of(text: str) -> tuple[str, ...] | None:
    """The registries that a pull secret has logins of; None when it cannot be read."""
    auths = logins_of(text)
    return tuple(auths) if auths is not None else None


def has_login(registries: tuple[str, ...], repository: str) -> bool:
    """Whether one of the logins is used for a repository."""
    return any(covers(scope_of(registry), repository) for registry in registries)


def scope_of(registry: str) -> str:
    """What a login is for: a registry, or repositories there. Of the URLs of old tools the host counts."""
    plain = _SCHEME.sub("", registry)
    return plain.rstrip("/") if plain == registry else plain.partition("/")[0]


def logins_of(text: str) -> dict[str, Any] | None:
    """The logins of a pull secret as they stand there; None when it cannot be read."""
    return _auths(_parsed(text))


def read_login(auth: Any) -> tuple[str, str] | None:
    """The user and the password of a login; None when it is not one."""
    try:
        user, colon, password = base64.b64decode(auth, validate=True).partition(b":")
        return (user.decode(), password.decode().strip("\0")) if colon else None
    except (ValueError, TypeError):
        return None


def find_faults(text: str) -> Iterator[Fault]:
    """What is wrong with a pull secret."""
    try:
        data = json.loads(text)
    except ValueError as error:
        yield Fault("pull-secret-not-json", {"reason": _reason(text, error)})
        return
    except RecursionError:
        yield Fault("pull-secret-not-json", {"reason": "it is nested too deeply"})
        return
    if not isinstance(data, dict):
        what = (
            "a text in quotes; one pair of quotes is too many"
            if isinstance(data, str)
            else "not an object {...}"
        )
        yield Fault("pull-secret-not-json", {"reason": f"it is {what}"})
        return
    auths = _auths(data)
    if auths is None:
        yield Fault("pull-secret-no-auths", {"hint": _auths_hint(data)})
        return
    for registry, login in auths.items():
        yield from _login_faults(registry, login)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _auths(data: Any) -> dict[str, Any] | None:
    auths = data.get("auths") if isinstance(data, dict) else None
    return auths if isinstance(auths, dict) and auths else None


def _reason(text: str, error: ValueError) -> str:
    stripped = text.strip()
    if not stripped:
        return "it is empty"
    if _FILE_NAME.match(stripped):
        return "it is the name of a file; what is needed is the content of that file"
    if _PLACEHOLDER.match(stripped):
        return "it still is the placeholder of a template"
    if stripped.startswith("'") or stripped.endswith("'"):
        return "it stands in two pairs of quotes"
    if _is_encoded(stripped):
        return "it is encoded in base64; what is needed is the text itself"
    if isinstance(error, json.JSONDecodeError):
        where = f"character {error.pos + 1} of {len(text)}" if error.pos < len(text) else "at its end"
        return f"{error.msg.lower()} ({where})"
    return "it cannot be read"


def _is_encoded(text: str) -> bool:
    try:
        return base64.b64decode(text, validate=True).lstrip()[:1] == b"{"
    except ValueError:
        return False


def _auths_hint(data: Mapping[str, Any]) -> str:
    if any(isinstance(value, dict) and "auth" in value for value in data.values()):
        return ", with the registries that are there now under auths"
    if "auths" in data:
        return ", with at least one registry"
    return ""


def _login_faults(registry: str, login: Any) -> Iterator[Fault]:
    shown = _shown(registry)
    if registry_fault(scope_of(registry).partition("/")[0]):
        yield Fault("pull-secret-registry", {"registry": shown})
        return
    if not isinstance(login, dict) or not ("auth" in login or "credsStore" in login):
        named = isinstance(login, dict) and "username" in login and "password" in login
        hint = "; username and password alone are not read" if named else ""
        yield Fault("pull-secret-no-login", {"registry": shown, "hint": hint})
    elif "auth" in login and read_login(login["auth"]) is None:
        yield Fault("pull-secret-bad-login", {"registry": shown})


def _shown(registry: str) -> str:
    """A registry's name as it may be shown: what stands before an @ could be a login."""
    name = registry.rpartition("@")[2]
    return repr(name if len(name) <= 80 else f"{name[:77]}...")
