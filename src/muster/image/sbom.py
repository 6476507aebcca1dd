# SPDX-License-Identifier: Apache-2.0
"""What a medium is made of, as a CycloneDX bill of materials."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime
from typing import Any, Final

from muster import __version__
from muster.frozen import dataclass

_NAMESPACE: Final = uuid.UUID("5f3f2b2e-6c5e-5d7c-9a54-8f3f0c1d2e4b")


@dataclass(frozen=True)
class Component:
    """A part of the medium."""

    type: str
    """A word of CycloneDX: operating-system, container, file, data, application."""
    name: str
    version: str = ""
    sha256: str = ""
    purl: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)


def render_sbom(medium: Component, parts: tuple[Component, ...], created: int) -> bytes:
    """The bill; the same for the same medium. ``created`` is when its secrets were made, in seconds."""
    body = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": f"{datetime.fromtimestamp(created, UTC):%Y-%m-%dT%H:%M:%SZ}",
            "tools": {"components": [{"type": "application", "name": "muster", "version": __version__}]},
            "component": _component(medium),
        },
        "components": [_component(part) for part in parts],
        "dependencies": [{"ref": _reference(medium), "dependsOn": [_reference(part) for part in parts]}],
    }
    serial = uuid.uuid5(_NAMESPACE, json.dumps(body, sort_keys=True))
    return (
        json.dumps({**body, "serialNumber": f"urn:uuid:{serial}"}, indent=2, sort_keys=True).encode() + b"\n"
    )


def _reference(component: Component) -> str:
    return f"{component.type}:{component.name}"


def _component(component: Component) -> dict[str, Any]:
    body: dict[str, Any] = {
        "type": component.type,
        "name": component.name,
        "bom-ref": _reference(component),
    }
    if component.version:
        body["version"] = component.version
    if component.sha256:
        body["hashes"] = [{"alg": "SHA-256", "content": component.sha256}]
    if component.purl:
        body["purl"] = component.purl
    if component.properties:
        body["properties"] = [
            {"name": f"muster:{name}", "value": value} for name, value in component.properties.items()
        ]
    return body
