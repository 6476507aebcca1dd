# SPDX-License-Identifier: Apache-2.0
"""How the programs of a host reach the outside."""

from __future__ import annotations

from muster.image.credentials import Credentials
from muster.model.ignition import Config, File
from muster.model.plan import Plan, ProxyPlan


def proxy(plan: Plan, _credentials: Credentials) -> Config:
    """The proxy as the default environment of all services, in both spellings that programs look for."""
    return Config((proxy_file(plan.proxy),) if plan.proxy else ())


def proxy_file(proxy: ProxyPlan) -> File:
    """A proxy for all services of a host."""
    values = {"HTTP_PROXY": proxy.http, "HTTPS_PROXY": proxy.https, "NO_PROXY": proxy.no_proxy}
    lines = [
        f"DefaultEnvironment={_quoted(f'{spelling}={value}')}\n"
        for name, value in values.items()
        if value
        for spelling in (name, name.lower())
    ]
    text = "[Manager]\n" + "".join(lines)
    return File("/etc/systemd/system.conf.d/10-default-env.conf", text.encode())


def _quoted(assignment: str) -> str:
    """As one word of systemd, to which % and quotes mean something."""
    escaped = assignment.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'
