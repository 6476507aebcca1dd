# SPDX-License-Identifier: Apache-2.0
"""What a release says of its parts: modules, licences, the bill of materials."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from muster.release.build.bill import render_bill
from muster.release.build.licences import find_licences, name_licence
from muster.release.build.modules import Module, load_sums, parse_build_info, parse_modules, render_modules
from tests.releases import make_release

APACHE = "Apache License\n   Version 2.0, January 2004\n"
MIT = "Permission is hereby granted, free of charge, to any person ... The above copyright\nnotice and"
BSD = "Redistribution and use in source and binary forms, with or without"
MODULES = (
    Module("example.com/a", "v1.0.0", "h1:a=", ("MIT",)),
    Module("example.com/B/v2", "v2.0.0+incompatible", "h1:b=", (), "example.com/b"),
    Module("example.com/ours", "v0.0.0", ""),
)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (APACHE, "Apache-2.0"),
        (MIT, "MIT"),
        (f"{BSD} ... Neither the name of", "BSD-3-Clause"),
        (BSD, "BSD-2-Clause"),
        ("Mozilla Public License Version 2.0", "MPL-2.0"),
        ("Permission to use, copy, modify, and/or distribute this software", "ISC"),
        ("All rights reserved.", ""),
    ],
)
def test_licences_are_known_by_their_words(text: str, name: str) -> None:
    assert name_licence(text) == name


def test_licences_of_a_module(tmp_path: Path) -> None:
    (tmp_path / "LICENSE").write_text(APACHE)
    (tmp_path / "LICENSE-3rdparty.txt").write_text(MIT)
    (tmp_path / "licenses.go").write_text(BSD)
    assert find_licences(tmp_path) == ("Apache-2.0", "MIT")
    assert find_licences(tmp_path / "gone") == ()


def test_modules_are_read_from_what_go_wrote(tmp_path: Path) -> None:
    folder = tmp_path / "example.com/!fork@v1.1.0"
    folder.mkdir(parents=True)
    (folder / "COPYING").write_text(MIT)
    info = {
        "Path": "example.com/main",
        "Deps": [
            {"Path": "example.com/z", "Version": "v0.1.0", "Sum": "h1:z="},
            {
                "Path": "example.com/a",
                "Version": "v1.0.0",
                "Replace": {"Path": "example.com/Fork", "Version": "v1.1.0", "Sum": "h1:f="},
            },
            {"Path": "example.com/near", "Version": "v0.0.0", "Replace": {"Path": "./near"}},
            {"Path": "example.com/changed", "Version": "v1.2.0", "Replace": {"Path": "./module-0"}},
        ],
    }
    (tmp_path / "go.sum").write_text(
        "example.com/changed v1.2.0 h1:c=\nexample.com/changed v1.2.0/go.mod h1:no=\n\n"
    )
    found = parse_build_info(info, tmp_path, load_sums(tmp_path))
    assert found == (
        Module("example.com/Fork", "v1.1.0", "h1:f=", ("MIT",), "example.com/a"),
        Module("example.com/changed", "v1.2.0", "h1:c="),
        Module("example.com/near", "v0.0.0", ""),
        Module("example.com/z", "v0.1.0", "h1:z="),
    )
    assert parse_modules(json.loads(json.dumps(render_modules(found)))) == found
    assert parse_build_info({}, tmp_path, {}) == ()
    assert load_sums(tmp_path / "nowhere") == {}


def test_the_bill_is_one_that_others_read(tmp_path: Path) -> None:
    release = make_release(tmp_path, "all")
    bill = render_bill(release, {"tool": MODULES, "gauge": MODULES[:1]})
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill.decode()) is None
    body = json.loads(bill)
    components = {each["bom-ref"]: each for each in body["components"]}
    assert components["toolbox@v1.2.3"]["purl"] == "pkg:golang/example.com/toolbox@v1.2.3"
    assert components["pkg:golang/example.com/a@v1.0.0"]["licenses"] == [{"license": {"id": "MIT"}}]
    assert "pkg:golang/example.com/b/v2@v2.0.0%2Bincompatible" in components
    needs = {each["ref"]: each["dependsOn"] for each in body["dependencies"]}
    assert needs[release.tagged] == ["gauge@v0.1.0", "toolbox@v1.2.3"]
    assert needs["gauge@v0.1.0"] == ["pkg:golang/example.com/a@v1.0.0", "pkg:golang/stdlib@1.26.8"]
    assert {ref for found in needs.values() for ref in found} <= components.keys()
    assert render_bill(release, {"gauge": MODULES[:1], "tool": MODULES}) == bill
