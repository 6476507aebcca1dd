# SPDX-License-Identifier: Apache-2.0
"""Bills of materials, judged by the schema's own library."""

from __future__ import annotations

from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from muster.image.base_image import BaseImage
from muster.image.product import base_component
from muster.image.sbom import Component, render_sbom

MEDIUM = Component("file", "agent.x86_64.iso", sha256="0" * 64, properties={"fs-verity": "sha256:00"})
PARTS = (
    Component("operating-system", "coreos", "42", "1" * 64),
    Component("container", "release", purl="pkg:oci/release@sha256%3A00"),
)


def test_it_is_valid_and_the_same_every_time() -> None:
    text = render_sbom(MEDIUM, PARTS, 1_800_000_000)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text.decode()) is None
    assert render_sbom(MEDIUM, PARTS, 1_800_000_000) == text
    assert render_sbom(MEDIUM, PARTS[:1], 1_800_000_000) != text


@pytest.mark.parametrize(
    ("origin", "kept"),
    [
        ("https://mirror.example.com/rhcos.iso", {"origin": "https://mirror.example.com/rhcos.iso"}),
        ("http://mirror.example.com/rhcos.iso?…", {"origin": "http://mirror.example.com/rhcos.iso"}),
        ("/home/joe/rhcos.iso", {}),
        ("../rhcos.iso", {}),
    ],
)
def test_the_bill_tells_no_local_paths(origin: str, kept: dict[str, str]) -> None:
    base = BaseImage(Path("/home/joe/rhcos.iso"), "ab" * 32, 5, origin)
    found = base_component(base, "rhcos")
    assert (found.name, found.sha256, found.properties) == ("rhcos", "ab" * 32, kept)
