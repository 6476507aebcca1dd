# SPDX-License-Identifier: Apache-2.0
"""Which proxy a request goes by. The URL of a proxy may hold a password, so none is ever quoted."""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Mapping
from dataclasses import field
from typing import Final
from urllib.parse import unquote, urlsplit

from muster.errors import UserError
from muster.frozen import dataclass

_SCHEMES: Final = ("http", "https")


@dataclass(frozen=True)
class Proxy:
    """How this machine reaches the outside."""

    http: str = field(default="", repr=False)
    """The URL of the proxy for what is asked by HTTP; empty for none."""
    https: str = field(default="", repr=False)
    no_proxy: str = ""
    """Hosts, domains and networks that are reached without."""


@dataclass(frozen=True)
class Way:
    """The proxy that one request goes by."""

    url: str
    """Without the login."""
    authorization: str = field(default="", repr=False)
    """The header for the login; empty for none."""

    @property
    def shown(self) -> str:
        return urlsplit(self.url).netloc


def find_way(proxy: Proxy, url: str) -> Way | None:
    """The proxy for a URL; None when it is asked directly."""
    parts = urlsplit(url)
    given = proxy.https if parts.scheme == "https" else proxy.http
    if not given or is_direct(parts.hostname or "", proxy.no_proxy):
        return None
    return _parse_way(given)


def proxy_of(environment: Mapping[str, str]) -> Proxy:
    """The proxies that environment variables name; of two spellings the one in lower case counts."""

    def find(name: str) -> str:
        return environment.get(name) or environment.get(name.upper()) or ""

    everything = find("all_proxy")
    return Proxy(find("http_proxy") or everything, find("https_proxy") or everything, find("no_proxy"))


def is_direct(host: str, no_proxy: str) -> bool:
    """Whether NO_PROXY names a host: itself, a domain above it, a network that its address is in, or all."""
    name = host.lower().strip("[]").rstrip(".")
    return any(_names(entry.strip().lower(), name) for entry in no_proxy.split(","))


def _names(entry: str, name: str) -> bool:
    if entry == "*":
        return True
    if not entry:
        return False
    try:
        return ipaddress.ip_address(name) in ipaddress.ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        domain = entry.partition(":")[0].removeprefix("*").strip(".")
        return bool(domain) and (name == domain or name.endswith(f".{domain}"))


def _parse_way(text: str) -> Way:
    whole = text if "://" in text else f"http://{text}"
    try:
        parts = urlsplit(whole)
        port = parts.port
    except ValueError as error:
        raise _bad() from error
    if parts.scheme not in _SCHEMES or not parts.hostname:
        raise _bad()
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    url = f"{parts.scheme}://{host}" + (f":{port}" if port else "")
    if parts.username is None:
        return Way(url)
    login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return Way(url, f"Basic {base64.b64encode(login.encode()).decode()}")


def _bad() -> UserError:
    return UserError(
        "the URL of the proxy cannot be used", hint="write it as http://USER:PASSWORD@proxy.example.com:3128"
    )
