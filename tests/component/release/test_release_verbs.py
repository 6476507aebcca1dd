# SPDX-License-Identifier: Apache-2.0
"""`muster release mirror`, `save` and `load` as their users call them, between our registry and Docker's."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from muster.release.store.store import Store, create_store, open_store
from muster.toolbox import Toolbox
from tests.component.muster import Result, run
from tests.component.release.docker_registry import start_docker_registry
from tests.component.release.payload import (
    CONTENT,
    REGISTRY,
    RELEASE,
    VERSION,
    Made,
    Shape,
    StoreKeeper,
    add_image,
    make_kubernetes,
    make_release,
    pack,
)
from tests.component.release.rough_registry import BASIC
from tests.component.release.served import start_registry

TAG = f"{VERSION}-x86_64"


@dataclass
class Target:
    """Docker's registry with TLS and a login, and the flags that let us in."""

    host: str
    flags: tuple[str, ...]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def made(store: Store) -> Made:
    return make_release(StoreKeeper(store))


@pytest.fixture
def target(toolbox: Toolbox, tmp_path: Path) -> Iterator[Target]:
    with start_docker_registry(toolbox, tmp_path) as registry:
        secret, bundle = tmp_path / "pull-secret.json", tmp_path / "bundle.pem"
        login = {"auth": BASIC.removeprefix("Basic ")}
        secret.write_text(json.dumps({"auths": {registry.host: login}}))
        bundle.write_text(registry.authority.pem)
        yield Target(registry.host, ("--pull-secret", str(secret), "--ca-bundle", str(bundle)))


def mirror(*arguments: str | Path, status: int = 0) -> Result:
    done = run("release", "mirror", *arguments)
    assert done.status == status, done.err + done.out
    return done


def body(done: Result) -> dict[str, object]:
    found: dict[str, object] = json.loads(done.out)
    return found


def test_a_store_goes_to_a_registry_and_comes_back(
    store: Store, made: Made, target: Target, tmp_path: Path
) -> None:
    place = f"{target.host}/mirror"
    dry = body(mirror(store.root, place, *target.flags, "--dry-run", "--output", "json"))
    assert (dry["dryRun"], dry["copied"], dry["missing"]) == (True, 0, [])
    done = mirror(store.root, place, *target.flags, "--config-dir", tmp_path / "conf")
    count = len(made.components) + 1
    assert f"proven: all {count} are there by digest" in done.out
    sources = yaml.safe_load((tmp_path / "conf/image-digest-sources.yaml").read_text())["imageDigestSources"]
    assert {"source": f"{REGISTRY}/{CONTENT}", "mirrors": [f"{place}/{CONTENT}"]} in sources
    again = body(mirror(store.root, place, *target.flags, "--output", "json"))
    assert (again["copied"], again["toCopyBytes"], again["images"]) == (0, 0, count)
    assert again["imageDigestSources"] == sources
    conf = tmp_path / "conf/registries.conf"
    assert tomllib.loads(conf.read_text())["registry"][0]["mirror-by-digest-only"] is True
    back = mirror(
        f"docker://{place}/{RELEASE}:{TAG}", tmp_path / "back", *target.flags, "--registries-conf", conf,
        "--output", "json",
    )  # fmt: skip
    assert body(back)["copied"] == count
    assert {image.digest for image in open_store(tmp_path / "back").contents().images.values()} == {
        image.digest for image in store.contents().images.values()
    }


def test_our_registry_gives_a_release_for_several_architectures(store: Store, tmp_path: Path) -> None:
    made = make_release(StoreKeeper(store), Shape(architectures=("amd64", "arm64")))
    with start_registry(store.root, tmp_path) as served:
        conf = tmp_path / "registries.conf"
        conf.write_text(
            f'[[registry]]\nlocation = "{REGISTRY}"\n[[registry.mirror]]\nlocation = "{served.place}"\n'
            "insecure = true\n"
        )
        name = f"{REGISTRY}/{RELEASE}:{VERSION}-multi"
        done = mirror(name, tmp_path / "copy", "--registries-conf", conf, "--served-at", "r.example.com:5000")
    assert f"openshift {VERSION}: {len(made.components) + 1} images" in done.out
    assert f"- r.example.com:5000/{CONTENT}" in done.out
    copy = open_store(tmp_path / "copy")
    assert copy.contents().images[name].digest == made.image.digest
    assert run("store", "verify", "--full", copy.root).status == 0


def test_our_own_releases_come_with_their_add_ons(store: Store, tmp_path: Path) -> None:
    made = make_kubernetes(StoreKeeper(store))
    done = body(mirror(store.root, tmp_path / "copy", "--output", "json"))
    assert done["release"] == {
        "kind": "kubernetes",
        "version": "v1.36.3",
        "image": f"{REGISTRY}/kubernetes/release:v1.36.3-amd64@{made.image.digest}",
    }
    store.blobs.path(made.components["traefik"].layers[0].digest).unlink()
    lost = mirror(store.root, tmp_path / "other", status=1)
    assert "needed by add-on traefik" in lost.out
    assert "MISSING" in lost.out
    assert "component kube" not in lost.out


def test_further_images_belong_to_the_copy(store: Store, made: Made, tmp_path: Path) -> None:
    keeper = StoreKeeper(store)
    web = add_image(keeper, "team/web", [pack({"web": b"web"})], tag="v1")
    add_image(keeper, "team/tool", [pack({"tool": b"tool"})], tag="v2")
    manifests = tmp_path / "apps.yaml"
    manifests.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n"
        f"  - image: {REGISTRY}/team/web@{web.digest}\n  - image: {REGISTRY}/team/none:v1\n"
    )
    flags = ("--manifests", manifests, "--image", f"{REGISTRY}/team/tool:v2", "--output", "json")
    done = body(mirror(store.root, tmp_path / "copy", *flags, status=1))
    assert done["images"] == len(made.components) + 4
    missing = done["missing"]
    assert isinstance(missing, list)
    assert [each["image"] for each in missing] == [str_of(made), f"{REGISTRY}/team/none:v1"]
    assert missing[1]["neededBy"] == [f"Pod web in {manifests}"]
    names = open_store(tmp_path / "copy").contents().images
    assert f"{REGISTRY}/team/web@{web.digest}" in names
    assert f"{REGISTRY}/team/tool:v2" in names


def str_of(made: Made) -> str:
    return f"{REGISTRY}/{RELEASE}:{TAG}@{made.image.digest}"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["nowhere", "copy"], "is not a content store"),
        (["https://r.example.com/a", "copy"], "names neither a registry nor a store"),
        (["STORE", "r.example.com/a:tag"], "is no place for images"),
        (["STORE", "oci:copy:name"], "names an image, not a place"),
        (["STORE", "r.example.com/a", "--served-at", "r.example.com"], "--served-at is for stores"),
        (["STORE", "copy", "--image", "nginx"], "does not name an image"),
        (["STORE", "copy", "--manifests", "none.yaml"], "cannot read"),
        (["STORE", "copy", "--config-dir", "conf"], "nobody says where the store will be served"),
        (["EMPTY", "copy"], "has no release"),
    ],
)
def test_calls_that_cannot_be_carried_out(
    store: Store, made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], why: str
) -> None:
    create_store(tmp_path / "empty")
    monkeypatch.chdir(tmp_path)
    names = {"STORE": str(store.root), "EMPTY": str(tmp_path / "empty")}
    done = mirror(*(names.get(each, each) for each in arguments), status=1)
    assert why in done.err
    assert "hint:" in done.err


def test_a_dry_run_makes_nothing(store: Store, made: Made, tmp_path: Path) -> None:
    done = mirror(store.root, tmp_path / "copy", "--dry-run")
    assert "would be copied" in done.out
    assert not (tmp_path / "copy").exists()


def test_an_interrupt_leaves_what_can_be_gone_on_with(tmp_path: Path, store: Store) -> None:
    make_release(StoreKeeper(store), Shape(iso=os.urandom(16 << 20)))
    argv = [sys.executable, "-m", "muster.cli", "release", "mirror", str(store.root), str(tmp_path / "copy")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not [*(tmp_path / "copy").glob("partial/*")] and process.poll() is None:
            assert time.monotonic() < deadline
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert "Traceback" not in out + err
    if process.returncode:  # It may have been faster.
        assert process.returncode == 8, err
        assert "interrupted" in err
    mirror(store.root, tmp_path / "copy")
    assert run("store", "verify", "--full", tmp_path / "copy").status == 0


def test_a_release_in_one_file(store: Store, made: Made, tmp_path: Path) -> None:
    first, second = tmp_path / "one.tar", tmp_path / "two.tar"
    assert run("release", "save", store.root, first).status == 0
    refused = run("release", "save", store.root, first)
    assert (refused.status, "is there already" in refused.err) == (1, True)
    done = run("release", "load", first, tmp_path / "loaded")
    assert done.status == 0, done.err
    assert f"openshift {VERSION} is in {tmp_path / 'loaded'}, all of it proven to be there" in done.out
    assert run("release", "save", tmp_path / "loaded", second).status == 0
    assert first.read_bytes() == second.read_bytes(), "the same images give the same bytes"
    again = body(run("release", "load", first, tmp_path / "loaded", "--output", "json"))
    assert (again["newBytes"], again["missing"], again["failed"]) == (0, [], [])


def test_a_file_is_made_from_a_registry(store: Store, made: Made, tmp_path: Path) -> None:
    file = tmp_path / "release.tar"
    with start_registry(store.root, tmp_path) as served:
        conf = tmp_path / "registries.conf"
        conf.write_text(
            f'[[registry]]\nlocation = "{REGISTRY}"\n[[registry.mirror]]\nlocation = "{served.place}"\n'
            "insecure = true\n"
        )
        done = run("release", "save", f"{REGISTRY}/{RELEASE}:{TAG}", file, "--registries-conf", conf)
        assert done.status == 0, done.err
    assert not (tmp_path / "release.tar.store").exists()
    other = tmp_path / "other.tar"
    assert run("release", "save", store.root, other).status == 0
    assert file.read_bytes() == other.read_bytes()


def test_what_is_not_whole_is_not_saved(store: Store, made: Made, tmp_path: Path) -> None:
    store.blobs.path(made.components["etcd"].digest).unlink()
    done = run("release", "save", store.root, tmp_path / "release.tar")
    assert done.status == 1
    assert "needed by component etcd" in done.err
    assert [path.name for path in tmp_path.glob("*release.tar*")] == []
    assert "end with .tar" in run("release", "save", store.root, tmp_path / "release.zip").err


def test_a_damaged_file_is_told(store: Store, made: Made, tmp_path: Path) -> None:
    file = tmp_path / "release.tar"
    assert run("release", "save", store.root, file).status == 0
    layer = made.components["cli"].layers[1]
    data = file.read_bytes()
    at = data.index(store.blobs.path(layer.digest).read_bytes())
    file.write_bytes(data[: at + 20] + b"!" + data[at + 21 :])
    done = run("release", "load", file, tmp_path / "loaded")
    assert done.status == 1
    assert "did not come" in done.out
    assert "needed by component cli" in done.out
    file.write_bytes(data[:5000])
    assert run("release", "load", file, tmp_path / "other").status == 1
    assert run("release", "load", tmp_path / "none.tar", tmp_path / "other").status == 1


def test_images_alone_are_no_release(tmp_path: Path) -> None:
    store = create_store(tmp_path / "images")
    add_image(StoreKeeper(store), "team/web", [pack({"web": b"web"})], tag="v1")
    assert run("store", "export", store.root, tmp_path / "images.tar").status == 0
    done = run("release", "load", tmp_path / "images.tar", tmp_path / "loaded")
    assert done.status == 1
    assert "holds no release" in done.err
