# SPDX-License-Identifier: Apache-2.0
"""A registry for the lab's machines, in the place of the site's mirror.

Docker's registry, which they may push to; or Muster's own, which serves a content store as it is.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from muster.frozen import dataclass
from muster.lab.services.service import Service

PORT: Final = 5000


@dataclass(frozen=True)
class Registry:
    """Where a registry listens, and what it keeps."""

    address: str = "0.0.0.0"  # noqa: S104  # Of the lab's network namespace, which nobody else is in.
    port: int = PORT
    content: Path | None = None
    """Where images are kept; None for a place of its own."""
    certificate: Path | None = None
    """With its key: HTTPS. Without: HTTP."""
    key: Path | None = None
    htpasswd: Path | None = None
    """Who may come in, with bcrypt hashes; None for everybody."""


def describe_registry(registry: Registry, *, program: Sequence[str]) -> Service:
    """Docker's registry with its configuration."""
    return Service(
        name="registry",
        argv=(*program, "serve", "config.yml"),
        ready="listening on",
        files=(("config.yml", render_config(registry)),),
        folders=("content",),
    )


def describe_store_registry(store: Path, port: int = PORT) -> Service:
    """`muster registry serve`, at all addresses of the lab's network namespace."""
    return Service(
        name="registry",
        argv=(
            *(sys.executable, "-m", "muster.cli", "registry", "serve", str(store)),
            *("--listen", f":{port}", "--log-level", "debug"),
        ),
        ready="serving",
    )


def render_config(registry: Registry) -> str:
    """config.yml; JSON is YAML, too."""
    host = f"[{registry.address}]" if ":" in registry.address else registry.address
    http: dict[str, Any] = {"addr": f"{host}:{registry.port}"}
    if registry.certificate and registry.key:
        http["tls"] = {"certificate": str(registry.certificate), "key": str(registry.key)}
    config: dict[str, Any] = {
        "version": "0.1",
        "log": {"level": "info", "formatter": "text"},
        "storage": {
            "filesystem": {"rootdirectory": str(registry.content or "content")},
            "delete": {"enabled": True},
        },
        "http": http,
    }
    if registry.htpasswd:
        config["auth"] = {"htpasswd": {"realm": "muster lab", "path": str(registry.htpasswd)}}
    return json.dumps(config, indent=2) + "\n"
