# SPDX-License-Identifier: Apache-2.0
"""`muster store` as its users meet it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from muster.release.oci.digest import digest_of
from muster.release.store.store import Store, open_store
from tests.component.muster import Result, run
from tests.component.release.mounts import call
from tests.component.release.served import make_signing_pair
from tests.stores import NAME, OTHER, layer_path, make_store, noise, put_image, put_index, take_in
from tests.unit.release.exchange.sources import docker_files, registry_storage, write_tar

VERBS = ("list", "verify", "gc", "sign", "import", "export")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return make_store(tmp_path / "store")


def in_json(*arguments: str | Path, status: int = 0) -> Any:
    result = run("store", *arguments, "--output", "json")
    assert result.status == status, result.err
    return json.loads(result.out)


def fails(result: Result, *words: str) -> None:
    assert result.status == 1
    assert "hint: " in result.err
    for word in words:
        assert word in result.err


@pytest.mark.parametrize("verb", VERBS)
def test_every_help_has_an_example(verb: str) -> None:
    result = run("store", verb, "--help")
    assert result.status == 0
    assert f"muster store {verb}" in result.out.partition("Examples:")[2]


def test_list(store: Store, tmp_path: Path) -> None:
    put_index(store, [put_image(store, [noise(5)]), put_image(store, [noise(6)])], "r.example.com/multi:1")
    listed = in_json("list", store.root)
    names = {image["name"]: image for image in listed["images"]}
    assert set(names) == {NAME, OTHER, "r.example.com/multi:1"}
    assert names[NAME]["sizeBytes"] > 40_000
    assert names["r.example.com/multi:1"]["architectures"] == ["amd64", "arm64"]
    assert listed["sizeBytes"] == sum(size for _, size in store.blobs.everything())
    text = run("store", "list", store.root).out
    assert f"40 KiB  {NAME}" in text
    assert "r.example.com/multi:1 (amd64, arm64)" in text
    assert "3 images, 101 KiB in" in text
    layer_path(store, 1).unlink()
    store.blobs.path(store.contents().images[NAME].digest).unlink()
    assert f"damaged  {NAME}" in run("store", "list", store.root).out
    fails(run("store", "list", tmp_path), "is not a content store")


def test_verify(store: Store) -> None:
    assert "2 of 2 images whole" in run("store", "verify", store.root).out
    layer_path(store, 2).write_bytes(b"x" * 20_000)
    assert run("store", "verify", store.root).status == 0
    result = run("store", "verify", "--full", store.root)
    assert result.status == 1
    assert f"BAD: {layer_path(store, 2)} is damaged" in result.out
    assert f"needed by {NAME}" in result.out
    assert f"good: {OTHER}" in result.out
    report = in_json("verify", "--full", store.root, status=1)
    assert (report["whole"], report["broken"], report["good"]) == ([OTHER], [NAME], False)


def test_repair(store: Store, tmp_path: Path) -> None:
    good = make_store(tmp_path / "good")
    layer_path(store, 2).write_bytes(b"x" * 20_000)
    report = in_json("verify", "--full", "--repair", store.root, status=1)
    assert report["removed"] == [digest_of(noise(2))]
    assert run("store", "import", store.root, good.root).status == 0
    assert run("store", "verify", "--full", store.root).status == 0


def test_signatures(store: Store, tmp_path: Path) -> None:
    key, public = make_signing_pair(tmp_path)
    unsigned = run("store", "verify", store.root, "--key", public)
    assert unsigned.status == 1
    assert "BAD: it is not signed" in unsigned.out
    assert run("store", "sign", store.root, "--key", key).status == 0
    assert "good: it is signed" in run("store", "verify", store.root, "--key", public).out
    index, signature = store.root / "index.json", store.root / "index.json.sig"
    call(
        "openssl",
        "pkeyutl",
        "-verify",
        "-pubin",
        "-inkey",
        public,
        "-rawin",
        "-in",
        index,
        "-sigfile",
        signature,
    )
    assert in_json("list", store.root)["signed"] is True
    removed = run("store", "gc", store.root, "--forget", NAME)
    assert "its signature was removed" in removed.err
    copy = tmp_path / "copy"
    assert run("store", "import", copy, store.root, "--key", key).status == 0
    assert in_json("verify", copy, "--key", public)["signature"] == "good"
    fails(run("store", "sign", store.root), "no key to sign with")
    fails(run("store", "sign", store.root, "--key", public), "is not a private key")


def test_gc(store: Store) -> None:
    take_in(store, noise(9))
    dry = in_json("gc", store.root, "--dry-run", "--forget", NAME)
    assert dry["forgotten"] == [NAME]
    assert {each["digest"] for each in dry["removed"]} >= {digest_of(noise(9)), digest_of(noise(2))}
    assert "1 blob, 20 KiB removed from" in run("store", "gc", store.root).out
    assert "nothing to remove" in run("store", "gc", store.root).out
    assert f"{NAME} forgotten" in run("store", "gc", store.root, "--forget", NAME).out
    assert set(store.contents().images) == {OTHER}
    fails(run("store", "gc", store.root, "--forget", NAME), f"there is no image {NAME}")


def test_import(store: Store, tmp_path: Path) -> None:
    new = tmp_path / "new"
    brought = in_json("import", new, store.root, "app/web")
    assert (brought["images"], brought["newBlobs"]) == ([NAME], 3)
    assert in_json("import", new, store.root)["newBlobs"] == 2
    assert in_json("import", new, store.root)["newBytes"] == 0
    storage = registry_storage(
        store, tmp_path / "registry", {"a/b:1": store.contents().images[NAME].digest}, {}
    )
    assert in_json("import", new, storage)["images"] == ["localhost/a/b:1"]
    named = ("--registry", "registry.example.com:5000")
    assert in_json("import", new, storage, "a/*", *named)["images"] == ["registry.example.com:5000/a/b:1"]
    saved = write_tar(tmp_path / "saved.tar", docker_files([noise(1)], ["web:1", "web:2"]))
    assert in_json("import", new, saved, "library/web:1", "--as", "r.example.com/web:9")["images"] == [
        "r.example.com/web:9"
    ]
    assert run("store", "verify", "--full", new).status == 0


def test_import_of_what_is_damaged(store: Store, tmp_path: Path) -> None:
    layer_path(store, 2).write_bytes(b"x" * 20_000)
    result = run("store", "import", tmp_path / "new", store.root)
    assert result.status == 1
    assert f"BAD: {NAME} did not come: the blob {digest_of(noise(2))} is not what it should be" in result.out
    assert OTHER in open_store(tmp_path / "new").contents().images


@pytest.mark.parametrize(
    ("name", "words"),
    [("nothing.tar", "there is no"), ("text.tar", "is not a tar archive"), ("evil.tar", "leads out of it")],
)
def test_import_of_what_is_no_source(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "text.tar").write_text("x" * 2000)
    write_tar(tmp_path / "evil.tar", {"manifest.json": b"[]", "../../etc/cron.d/x": b"x"})
    fails(run("store", "import", tmp_path / "new", tmp_path / name), words)
    assert not (tmp_path / "new").exists(), "a store is made when something comes into it"


def test_export(store: Store, tmp_path: Path) -> None:
    one, two = tmp_path / "one.tar", tmp_path / "two.tar"
    assert in_json("export", store.root, one)["sizeBytes"] == one.stat().st_size
    assert run("store", "export", store.root, two).status == 0
    assert one.read_bytes() == two.read_bytes()
    fails(run("store", "export", store.root, one), "is there already", "--force")
    assert run("store", "export", store.root, one, "app/db", "--force").status == 0
    assert one.stat().st_size < two.stat().st_size
    fails(run("store", "export", store.root, tmp_path / "x.tar.gz"), "is not compressed")
    fails(run("store", "export", store.root, tmp_path / "x", "--format", "docker"), "is a folder")
    fails(run("store", "export", store.root, tmp_path / "x.tar", "app/none"), "no image is called app/none")
    assert in_json("export", store.root, tmp_path / "copy", "app/db")["images"] == [OTHER]
    assert in_json("export", store.root, tmp_path / "copy")["newBlobs"] == 2
