# SPDX-License-Identifier: Apache-2.0
"""What a release is made of, down to the last module: a CycloneDX bill of materials."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote

from muster.release.build.modules import Module
from muster.release.model import Component, Release
from muster.release.oci.digest import hex_of

_NAMESPACE: Final = uuid.UUID("0b1c7b5e-5a44-5b9d-8f0e-3c7d6a1e9b52")


def render_bill(release: Release, modules: Mapping[str, tuple[Module, ...]]) -> bytes:
    """The bill of a release; ``modules`` are those of each program. The same bytes for the same release."""
    everything = {_purl(module): module for found in modules.values() for module in found}
    go = f"pkg:golang/stdlib@{release.go.removeprefix('go')}"
    own = {component.id: _reference(component) for component in release.components}
    components = [_component(each) for each in release.components]
    components.append({**_library(go, "stdlib", release.go), "licenses": _licences(("BSD-3-Clause",))})
    components += [_module(purl, everything[purl]) for purl in sorted(everything)]
    needs = [{"ref": release.tagged, "dependsOn": sorted(own.values())}]
    for component in release.components:
        inside = {go, *(_purl(module) for module in modules.get(component.program, ()))}
        needs.append({"ref": own[component.id], "dependsOn": sorted(inside)})
    body = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": release.created,
            "tools": {"components": [{"type": "application", "name": "muster", "version": release.muster}]},
            "component": {
                "type": "container",
                "name": release.name,
                "version": release.tag,
                "bom-ref": release.tagged,
            },
        },
        "components": components,
        "dependencies": needs,
    }
    serial = uuid.uuid5(_NAMESPACE, json.dumps(body, sort_keys=True))
    body["serialNumber"] = f"urn:uuid:{serial}"
    return json.dumps(body, indent=1, sort_keys=True).encode() + b"\n"


def _component(component: Component) -> dict[str, Any]:
    body: dict[str, Any] = {
        "type": "application",
        "bom-ref": _reference(component),
        "name": component.name,
        "version": component.version,
        "licenses": _licences((component.licence,)),
        "hashes": [{"alg": "SHA-256", "content": hex_of(component.digest)}],
    }
    if component.module:
        body["purl"] = _purl(Module(component.module, component.version, component.sum))
    if component.source:
        body["externalReferences"] = [{"type": "vcs", "url": component.source}]
    if component.changes:
        body["pedigree"] = {"notes": component.changes}
    return body


def _module(purl: str, module: Module) -> dict[str, Any]:
    body = _library(purl, module.path, module.version)
    if module.licences:
        body["licenses"] = _licences(module.licences)
    properties = {"muster:sum": module.sum, "muster:standsFor": module.stands_for}
    told = [{"name": name, "value": value} for name, value in properties.items() if value]
    if told:
        body["properties"] = told
    return body


def _library(purl: str, name: str, version: str) -> dict[str, Any]:
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}


def _licences(names: Iterable[str]) -> list[dict[str, Any]]:
    return [{"license": {"id": name}} for name in names]


def _reference(component: Component) -> str:
    return f"{component.id}@{component.version}"


def _purl(module: Module) -> str:
    return f"pkg:golang/{quote(module.path.lower(), safe='/')}@{quote(module.version, safe='')}"
