# SPDX-License-Identifier: Apache-2.0
"""Releases built with the real Go: the smallest image, all the way into a store, and what shows it."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from muster.release.build.golang import find_go
from muster.release.build.layers import zstd_version
from muster.release.build.make import Means, make_release
from muster.release.build.plan import make_plan
from muster.release.build.reading import load_recipe
from muster.release.build.recipe import choose_images, find_home
from muster.release.build.whole import Whole
from muster.release.look import choose_release, find_flaws, load_release
from muster.release.store.store import create_store, open_store
from muster.run import run as run_program
from tests.component import muster
from tests.releases import make_whole, put_whole


def _build(place: Path, tools: Path, architecture: str = "amd64") -> Whole:
    """A release of nothing but `pause`, with caches of its own."""
    recipe = choose_images(load_recipe(find_home()), ["pause"])
    go = find_go(recipe.go, tools, run_program)
    cache = place / "cache"
    plan = make_plan(recipe, architecture, go.version, zstd_version())
    return make_release(plan, Means(cache, replace(go, place=cache / "go"), create_store(place / "store")))


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory, cache_root: Path) -> tuple[Path, Path]:
    """Two builds that share nothing but the sources."""
    found = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("another-place")
    for place in found:
        _build(place, cache_root)
    return found


def test_the_same_sources_give_the_same_digests_everywhere(places: tuple[Path, Path]) -> None:
    one, other = (open_store(place / "store") for place in places)
    assert one.contents() == other.contents()
    assert {path.name for path in (one.root / "blobs/sha256").iterdir()} == {
        path.name for path in (other.root / "blobs/sha256").iterdir()
    }


def test_what_was_built_is_whole(places: tuple[Path, Path]) -> None:
    store = open_store(places[0] / "store")
    found = choose_release(store, "", "amd64")
    release = load_release(store, found)
    assert find_flaws(store, release, found, full=True) == []
    assert [image.id for image in release.images] == ["pause"]
    assert release.go.startswith("go1.")


def test_another_architecture_is_another_image(
    places: tuple[Path, Path], cache_root: Path, tmp_path: Path
) -> None:
    whole = _build(tmp_path, cache_root, "arm64")
    assert json.loads(whole.images["pause"].config)["architecture"] == "arm64"
    (program,) = (tmp_path / "cache/release/programs").iterdir()
    assert (program / "pause").read_bytes()[18:20] == b"\xb7\x00", "the ELF header names AArch64"
    assert whole.names.keys().isdisjoint(open_store(places[0] / "store").contents().images)


def test_pause_waits_and_ends_when_it_is_told(places: tuple[Path, Path]) -> None:
    (program,) = (places[0] / "cache/release/programs").iterdir()
    with subprocess.Popen([program / "pause"]) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        process.terminate()
        assert process.wait(30) == 0


def test_info(places: tuple[Path, Path]) -> None:
    result = muster.run("release", "info", places[0] / "store")
    assert result.status == 0
    assert "kubernetes v1.36.3 for linux/amd64" in result.out
    assert "Holds the namespaces of a pod" in result.out
    body = json.loads(muster.run("release", "info", "--store", places[0] / "store", "--output", "json").out)
    assert body["images"][0]["image"].startswith("muster.local/kubernetes/pause@sha256:")
    assert body["digest"].startswith("sha256:")


def test_verify_tells_what_is_damaged(places: tuple[Path, Path], tmp_path: Path) -> None:
    subprocess.run(["cp", "-r", places[0] / "store", tmp_path / "store"], check=True)
    result = muster.run("release", "verify", tmp_path / "store", "--full")
    assert (result.status, "every byte is right" in result.out) == (0, True)
    store = open_store(tmp_path / "store")
    (image,) = load_release(store, choose_release(store, "", "amd64")).images
    path = store.blobs.path(store.manifest(image.image.digest).layers[0].digest)
    path.write_bytes(b"\0" + path.read_bytes()[1:])
    result = muster.run("release", "verify", tmp_path / "store", "--full")
    assert result.status == 1
    assert f"is damaged: its content is not what its name says; needed by {image.tagged}" in result.out
    body = json.loads(muster.run("release", "verify", tmp_path / "store", "--full", "-o", "json").out)
    assert body["flaws"][0]["neededBy"] == [image.tagged]


def test_diff_of_the_same_is_nothing(places: tuple[Path, Path]) -> None:
    result = muster.run("release", "diff", places[0] / "store", places[1] / "store")
    assert (result.status, result.out.splitlines()[0]) == (0, "both hold the same")
    body = json.loads(
        muster.run("release", "diff", places[0] / "store", places[1] / "store", "-o", "json").out
    )
    assert (body["newBytes"], body["components"]) == (0, [])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["build", "--add-on", "gouge"], "there is no add-on 'gouge'"),
        (["build", "--arch", "s390x"], "there are no releases for machines of kind s390x"),
        (["build", "--store", "full"], "is no content store, and it is not empty"),
        (["info", "--store", "nowhere"], "nowhere is not a content store"),
        (["verify", "v9", "--store", "store"], "there is no release 'v9'"),
        (["diff", "store", "v9"], "not a content store"),
    ],
)
def test_what_cannot_be_done_is_told(
    places: tuple[Path, Path], tmp_path: Path, words: list[str], said: str
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").touch()
    (tmp_path / "store").symlink_to(places[0] / "store")
    there = [str(tmp_path / word) if word in ("full", "nowhere", "store") else word for word in words]
    result = muster.run("release", *there, env={"MUSTER_CACHE": str(tmp_path / "cache")})
    assert result.status == 1
    assert said in result.err
    assert "hint" in result.err.lower()


def test_without_go_it_is_told_how_to_get_it(tmp_path: Path) -> None:
    err = _build_without_go(tmp_path)
    assert "or newer is needed to build a release, and this machine has none" in err
    assert "bin/setup --os" in err
    assert not os.path.lexists(tmp_path / "cache/release")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ((), "with the add-ons that the release has: metrics-server"),
        (("--add-on", "none"), ""),
        (("--arch", "arm64"), ""),
    ],
)
def test_who_builds_again_keeps_the_add_ons(tmp_path: Path, flags: tuple[str, ...], said: str) -> None:
    """There is no Go, so that it ends there; what is to be built is told before."""
    put_whole(create_store(tmp_path / "store"), *make_whole(tmp_path, "metrics-server", home=find_home()))
    err = _build_without_go(tmp_path, *flags)
    assert said in err
    assert ("add-ons" in err) == bool(said)


def test_a_release_that_cannot_be_read_is_no_reason_to_forget_in_silence(tmp_path: Path) -> None:
    store = create_store(tmp_path / "store")
    put_whole(store, *make_whole(tmp_path, "metrics-server", home=find_home()))
    found = choose_release(store, "", "amd64")
    store.blobs.path(store.manifest(found.image.digest).layers[0].digest).write_bytes(b"damaged")
    assert "it is not known which add-ons the release had" in _build_without_go(tmp_path)


def _build_without_go(folder: Path, *flags: str) -> str:
    (folder / "bin").mkdir()
    places = ("--store", folder / "store", "--cache-dir", folder / "cache")
    result = muster.run(
        "release", "build", "--arch", "amd64", *places, *flags, env={"PATH": str(folder / "bin")}
    )
    assert result.status == 1
    assert "this machine has none" in result.err
    return result.err
