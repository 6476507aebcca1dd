# SPDX-License-Identifier: Apache-2.0
"""The logins of registries, out of pull secrets. Nothing here ever quotes from one."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from muster.config.formats.images import covers
from muster.config.formats.logins import logins_of, read_login, scope_of
from muster.errors import UserError
from muster.frozen import dataclass


@dataclass(frozen=True)
class Login:
    """Who we are at a registry, or in some repositories of one."""

    scope: str
    """Where it is used: host, port if any, and maybe the beginning of the repositories' path."""
    user: str = field(repr=False)
    password: str = field(repr=False)
    identity_token: str = field(default="", repr=False)
    """What some registries give instead of a password: it is exchanged for tokens."""

    @property
    def basic(self) -> str:
        """The header that carries it."""
        return "Basic " + base64.b64encode(f"{self.user}:{self.password}".encode()).decode()


@dataclass(frozen=True)
class Logins:
    """All logins, by where they are used."""

    by_scope: Mapping[str, Login] = field(default_factory=dict)

    def find(self, name: str) -> Login | None:
        """The login for ``registry/repository``: that with the longest scope, as for podman."""
        fitting = [scope for scope in self.by_scope if covers(scope, name)]
        return self.by_scope[max(fitting, key=len)] if fitting else None

    def add(self, others: Logins) -> Logins:
        """These and others; where both have one, the other's."""
        return Logins({**self.by_scope, **others.by_scope})


def parse_logins(text: str, origin: str = "the pull secret") -> Logins:
    """Read a pull secret. Entries that are no login are left out: their registries may need none."""
    entries = logins_of(text)
    if entries is None:
        raise UserError(
            f"{origin} cannot be read",
            hint='it has to be JSON, {"auths": {"registry.example.com": {"auth": "..."}}}',
        )
    found: dict[str, Login] = {}
    # A name that is written as it should be goes before the URLs of old tools.
    for registry in sorted(entries, key=lambda registry: scope_of(registry) == registry.rstrip("/")):
        login = _login(scope_of(registry), entries[registry])
        if login is not None:
            found[login.scope] = login
    return Logins(found)


def _login(scope: str, entry: Any) -> Login | None:
    if not scope or not isinstance(entry, dict):
        return None
    pair = read_login(entry.get("auth"))
    token = entry.get("identitytoken")
    identity = token if isinstance(token, str) else ""
    if pair is None and not identity:
        return None
    user, password = pair or ("", "")
    return Login(scope, user, password, identity)
