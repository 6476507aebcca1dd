# SPDX-License-Identifier: Apache-2.0
"""release.json: what is written is read again, and what is none is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from muster.errors import MediaError
from muster.release.model import Release
from muster.release.text import parse_release, render_release
from tests.releases import make_release


@pytest.fixture
def release(tmp_path: Path) -> Release:
    return make_release(tmp_path, "all")


def test_a_release_is_read_as_it_was_written(release: Release) -> None:
    data = render_release(release)
    assert parse_release(data, "x") == release
    assert render_release(parse_release(data, "x")) == data


def test_what_a_release_says(release: Release) -> None:
    body = json.loads(render_release(release))
    assert body["name"] == "registry.example.com/kubernetes/release"
    assert body["components"][0] == {
        "id": "toolbox",
        "name": "Toolbox",
        "version": "v1.2.3",
        "licence": "Apache-2.0",
        "program": "tool",
        "digest": release.components[0].digest,
        "sizeBytes": 11,
        "module": "example.com/toolbox",
        "sum": "h1:abc=",
        "source": "https://git.example.com/toolbox",
    }
    (add_on,) = body["addOns"]
    gauge = release.image("gauge")
    assert gauge.pullspec == f"registry.example.com/kubernetes/gauge@{gauge.image.digest}"
    assert add_on["manifests"] == [{"name": "10-pod.yaml", "text": f"kind: Pod\nimage: {gauge.pullspec}\n"}]
    assert add_on["requirements"]["host"] == {"cpuMillicores": 0, "memoryMiB": 0, "diskMiB": 7}
    assert [image.id for image in release.own_images] == ["tool"]
    assert gauge.components == ("toolbox", "gauge")
    assert release.find_image("nothing") is None
    found = release.find_add_on("gauge")
    assert found is not None
    assert found.bundle == "monitoring"


def test_fields_of_later_versions_are_left_alone(release: Release) -> None:
    body = json.loads(render_release(release))
    body["more"] = body["images"][0]["more"] = 3
    assert parse_release(json.dumps(body).encode(), "x") == release


def _set(*path: str | int, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(body: Any) -> None:
        for step in path[:-1]:
            body = body[step]
        if value is None:
            del body[path[-1]]
        else:
            body[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_set("schema", value=2), "its form has the number 2, this Muster reads 1"),
        (_set("schema", value="1"), "schema is not a number"),
        (_set("version", value=None), "version is missing"),
        (_set("madeWith", value=[]), "madeWith is not a table"),
        (_set("images", value={}), "images is not a list"),
        (_set("images", 0, value=3), r"images\[0\] is not a table"),
        (_set("images", 0, "image", value="registry.example.com/A"), "does not name an image"),
        (_set("images", 0, "image", value="registry.example.com/a:v1"), "has not the digest of its manifest"),
        (
            _set("images", 0, "manifest", "digest", value="md5:3"),
            r"images\[0\].manifest.digest is not a digest",
        ),
        (_set("images", 0, "components", value=["x"]), "is of a component 'x', which it has not"),
        (_set("images", 1, "id", value="tool"), "it has two images 'tool'"),
        (_set("components", 0, "sizeBytes", value=-1), r"components\[0\].sizeBytes is not a number"),
        (_set("addOns", 0, "images", value=["x"]), "needs an image 'x', which it has not"),
        (_set("addOns", 0, "ready", 0, "kind", value="x"), r"ready\[0\].kind is none of"),
        (_set("addOns", 0, "requirements", "host", value=None), "requirements.host is missing"),
    ],
)
def test_what_is_wrong_with_a_release(release: Release, change: Callable[[Any], None], why: str) -> None:
    body = json.loads(render_release(release))
    change(body)
    with pytest.raises(MediaError, match=f"the release in somewhere cannot be used: .*{why}"):
        parse_release(json.dumps(body).encode(), "somewhere")


@pytest.mark.parametrize("data", [b"", b"[]", b"<html>", b"[" * 100_000, b"\xff"])
def test_what_is_no_release(data: bytes) -> None:
    with pytest.raises(MediaError, match="cannot be used"):
        parse_release(data, "x")
