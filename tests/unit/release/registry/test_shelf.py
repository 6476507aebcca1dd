# SPDX-License-Identifier: Apache-2.0
"""A shelf reads what it needs and no more; what is on it follows the index."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.release.oci.digest import Digest
from muster.release.registry.current import Current
from muster.release.registry.reply import Trouble
from muster.release.registry.shelf import Shelf
from muster.release.store.blobs import Blobs
from tests.stores import MULTI, REGISTRY, TOOL, Stored, build_stored, put_program


@pytest.fixture
def stored(tmp_path: Path) -> Stored:
    return build_stored(tmp_path)


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """The command line turns the messages of Muster away from the root logger, once a test has run it."""
    logger = logging.getLogger("muster")
    before, logger.propagate = logger.propagate, True
    with caplog.at_level(logging.INFO, "muster"):
        yield caplog
    logger.propagate = before


def test_a_pull_reads_only_its_own_manifests(stored: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Digest] = []
    really = Blobs.read

    def count(self: Blobs, digest: Digest, limit: int) -> bytes:
        read.append(digest)
        return really(self, digest, limit)

    monkeypatch.setattr(Blobs, "read", count)
    shelf = Shelf(stored.store, stored.store.contents())
    assert shelf.find_manifest(stored.tool.digest)
    assert shelf.find_blob(stored.layer.digest) == stored.layer.size_bytes
    assert shelf.find_manifest(stored.tool.digest)
    assert read == [stored.tool.digest]
    assert shelf.find_blob(stored.inner.layers[0].digest)
    assert read == [stored.tool.digest, stored.multi.digest, stored.inner.digest]


def test_who_needs_a_blob(stored: Stored) -> None:
    shelf = Shelf(stored.store, stored.store.contents())
    assert shelf.find_needers(stored.layer.digest) == [TOOL]
    assert shelf.find_needers(stored.inner.layers[0].digest) == [MULTI]
    assert shelf.find_needers(stored.multi.digest) == [MULTI]
    assert shelf.find_needers(Digest("sha256:" + "0" * 64)) == ["nothing that has a name"]


def test_a_manifest_that_lies_about_a_size_harms_no_other(stored: Stored) -> None:
    liar = stored.tool.data.replace(f'"size":{stored.layer.size_bytes}'.encode(), b'"size":7')
    image = stored.tool.descriptor
    digest = stored.store.blobs.put(liar)
    stored.store.name({f"{REGISTRY}/a/liar:v1": type(image)(image.media_type, digest, len(liar))})
    shelf = Shelf(stored.store, stored.store.contents())
    assert shelf.find_manifest(digest)
    assert isinstance(shelf.find_blob(stored.layer.digest), Trouble)
    assert shelf.find_manifest(stored.tool.digest)
    assert shelf.find_blob(stored.layer.digest) == stored.layer.size_bytes


def test_new_names_are_served_at_once(stored: Stored, logged: pytest.LogCaptureFixture) -> None:
    current = Current(stored.store)
    before = current.shelf()
    assert current.shelf() is before
    new = put_program(stored.store, "new", 10)
    stored.store.name({f"{REGISTRY}/team/new:v1": new.descriptor})
    assert current.shelf().names.find_tag("team/new", "v1") == new.descriptor
    assert "3 images are served" in logged.text


def test_a_damaged_index_changes_nothing(stored: Stored, logged: pytest.LogCaptureFixture) -> None:
    current = Current(stored.store)
    before = current.shelf()
    (stored.store.root / "index.json").write_bytes(b"{")
    assert current.shelf() is before
    assert "what was served before is served still" in logged.text
    (stored.store.root / "index.json").unlink()
    assert current.shelf() is before


def test_names_of_nothing_are_told(stored: Stored, logged: pytest.LogCaptureFixture) -> None:
    path = stored.store.root / "index.json"
    index = json.loads(path.read_text())
    index["manifests"][0]["annotations"]["org.opencontainers.image.ref.name"] = "latest"
    path.write_text(json.dumps(index))
    current = Current(stored.store)
    assert current.shelf().names.count == 1
    assert "'latest' in index.json names no image of a registry" in logged.text
