# SPDX-License-Identifier: Apache-2.0
"""Which file a path leads to, through layers, removals and links."""

from __future__ import annotations

import pytest

from muster.errors import UserError
from muster.release.tar_stream import Entry, Kind
from muster.release.tree import Layer, NextLayer, Place, clean, resolve


def layer(*names: str) -> Layer:
    """``a/`` is a folder, ``a -> b`` a symbolic link, ``a => b`` a hard link, ``a !`` a device."""
    made = Layer()
    for text in names:
        if " -> " in text:
            name, _, target = text.partition(" -> ")
            made.add(Entry(name, Kind.SYMLINK, target), "x")
        elif " => " in text:
            name, _, target = text.partition(" => ")
            made.add(Entry(name, Kind.HARD_LINK, target), "x")
        elif text.endswith("!"):
            made.add(Entry(text.rstrip(" !"), Kind.OTHER), "x")
        else:
            made.add(Entry(text, Kind.DIRECTORY if text.endswith("/") else Kind.FILE), "x")
    return made


def find(path: str, *layers: Layer) -> str:
    """``layer:path`` of a file, or what else is there."""
    place = resolve(layers, len(layers), path)
    if place is None:
        return "nothing"
    return f"{place.layer}:{place.path}" if place.entry.kind is Kind.FILE else place.entry.kind.value


def test_the_topmost_layer_has_it() -> None:
    top, bottom = layer("./a/b"), layer("a/", "a/b", "/a/c")
    assert find("a/b", top, bottom) == "0:a/b"
    assert find("/a//./b", top, bottom) == "0:a/b"
    assert find("a/c", top, bottom) == "1:a/c"
    assert find("a", top, bottom) == find("", top) == find("/", top) == find("a/..", top) == "directory"
    assert find("a/b/c", top, bottom) == find("x", top, bottom) == find("a/b/../c", top, bottom) == "nothing"


def test_lower_layers_are_asked_for_only_when_needed() -> None:
    top = layer("a/b")
    assert resolve([top], 5, "a/b") == Place(0, "a/b", Entry("a/b", Kind.FILE))
    with pytest.raises(NextLayer):
        resolve([top], 5, "a/c")
    assert resolve([layer("a/.wh.c")], 5, "a/c") is None
    assert resolve([layer("a/.wh..wh..opq")], 5, "a/c/d") is None


@pytest.mark.parametrize(
    ("path", "names", "found"),
    [
        ("a/b", ["a/.wh.b"], "nothing"),
        ("a/b", [".wh.a"], "nothing"),
        ("a/b", ["a/.wh..wh..opq"], "nothing"),
        ("a/b", [".wh..wh..opq"], "nothing"),
        ("a/b", ["a"], "nothing"),
        ("a/b", ["a !"], "nothing"),
        ("a/b", ["a/.wh.c"], "1:a/b"),
        ("a/b", ["c/.wh..wh..opq"], "1:a/b"),
        ("a/b", ["a/.wh..wh..opq", "a/b"], "0:a/b"),
        ("a/b", ["a/.wh.b", "a/b"], "0:a/b"),
        ("a/b", ["a/b/"], "directory"),
        ("a/b", ["a/b !"], "device or pipe"),
        ("a", ["a/.wh..wh..opq"], "directory"),
        ("ab", ["a/.wh.b"], "nothing"),
    ],
)
def test_removals(path: str, names: list[str], found: str) -> None:
    assert find(path, layer(*names), layer("a/b")) == found


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("bin/oc", "1:usr/bin/oc"),
        ("usr/bin/kubectl", "1:usr/bin/oc"),
        ("absolute", "1:usr/bin/oc"),
        ("outside", "1:usr/bin/oc"),
        ("chain", "1:usr/bin/oc"),
        ("usr/bin/hard", "1:usr/bin/oc"),
        ("usr/bin/harder", "1:usr/bin/oc"),
        ("dangling", "nothing"),
        ("hard-dangling", "nothing"),
        ("hard-outside", "nothing"),
        ("folder", "directory"),
        ("root", "directory"),
        ("usr/bin/oc/", "1:usr/bin/oc"),
    ],
)
def test_links(path: str, found: str) -> None:
    top = layer("usr/bin/other", "chain -> ./absolute", "usr/bin/harder => usr/bin/hard")
    bottom = layer(
        "bin -> usr/bin",
        "usr/bin/oc",
        "usr/bin/kubectl -> oc",
        "usr/bin/hard => ./usr/bin/oc",
        "absolute -> /usr/bin/oc",
        "outside -> ../../../../usr/bin/oc",
        "dangling -> nowhere",
        "hard-dangling => nowhere",
        "hard-outside => ../../usr/bin/oc",
        "folder -> usr",
        "root -> /",
    )
    assert find(path, top, bottom) == found


@pytest.mark.parametrize("names", [["a -> a"], ["a -> b", "b -> a"], ["a -> a/a"], ["a => b", "b => a"]])
def test_circles(names: list[str]) -> None:
    with pytest.raises(UserError, match="the links at a lead in circles"):
        find("a", layer(*names))


def test_names_that_lead_out_are_nobodys() -> None:
    bad = layer("../../etc/passwd", "a/../../b", "..", "/", ".")
    for path in ("etc/passwd", "../../etc/passwd", "b", "a/b"):
        assert find(path, bad) == "nothing"
    assert clean("/a/./b//c/") == "a/b/c"
    assert clean("../a") is None
    assert clean("") is None
