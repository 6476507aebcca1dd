# SPDX-License-Identifier: Apache-2.0
"""What the installer reads out of the configuration of a host, and how it plans with it."""

from __future__ import annotations

import gzip
from base64 import b64encode
from pathlib import Path

import pytest

from muster.errors import ExternalError, UserError
from muster.model.ignition import Config, File, data_url, find_file, render_tree, tree_of
from muster.node.carried import Carried, parse_carried
from muster.node.preloading import choose_ahead, memory_budget, stage_for
from muster.release.node.images import FILE, NodeImage, NodeImages, NodeProgram, plan_images
from muster.release.node.payload import plan_cluster
from muster.release.node.runtime import CONF, LOGINS
from tests.clusters import MIRRORED, RELEASE, THREE, authorities
from tests.seeds import seeded


def test_what_a_host_gets_says_how_its_images_are_had() -> None:
    config = plan_cluster(RELEASE, THREE, authorities(), seeded("hosts"))["master-0"]
    found = parse_carried(render_tree(tree_of(config)))
    assert found.images == plan_images(RELEASE, THREE, THREE.first)
    assert found.settings.registries == MIRRORED
    assert found.settings.authorities == (THREE.trust_bundle,)
    login = found.settings.logins.find("registry.example.com:5000/kubernetes/kube")
    assert login is not None
    assert (login.user, login.password) == ("user", "pass")


def test_a_host_of_another_release_starts_from_its_system_alone() -> None:
    assert parse_carried(b'{"ignition": {"version": "3.2.0"}}') == Carried()
    assert parse_carried(b'{"ignition": {"version": "3.2.0"}, "storage": 7}') == Carried()


@pytest.mark.parametrize(
    ("path", "data", "words"),
    [
        (FILE, b"{", "the list of the images that this host needs cannot be read"),
        (CONF, b"[[", "registries.conf in the configuration of this host cannot be used"),
        (LOGINS, b"{", "config.json cannot be read"),
    ],
)
def test_what_cannot_be_read_is_named(path: str, data: bytes, words: str) -> None:
    files = {FILE: b'{"images": []}', path: data}
    config = Config(tuple(File(*each) for each in files.items()))
    with pytest.raises((ExternalError, UserError), match=words):
        parse_carried(render_tree(tree_of(config)))


@pytest.mark.parametrize(
    "contents",
    [
        {"source": data_url(b"a\xff")},
        {"source": "data:,a%FF"},
        {"source": "data:text/plain;base64,Yf8="},
        {
            "source": f"data:;base64,{b64encode(gzip.compress(b'a' + bytes([255]))).decode()}",
            "compression": "gzip",
        },
    ],
)
def test_a_file_of_a_config(contents: dict[str, str]) -> None:
    tree = {"storage": {"files": [{"path": "/b"}, {"path": "/a", "contents": contents}]}}
    assert find_file(tree, "/a") == b"a\xff"
    assert find_file(tree, "/c") is None


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"contents": None},
        {"contents": {"source": "https://example.com/a"}},
        {"contents": {"source": "data:;base64,%"}},
        {"contents": {"source": "data:,a", "compression": "gzip"}},
    ],
)
def test_a_file_that_a_config_does_not_carry(entry: dict[str, object]) -> None:
    assert find_file({"storage": {"files": [{"path": "/a", **entry}]}}, "/a") is None


def test_what_is_fetched_ahead_fits_into_memory() -> None:
    images = tuple(NodeImage(name, size) for name, size in (("a", 40), ("b", 70), ("c", 10)))
    assert [each.name for each in choose_ahead(NodeImages(images), 120).images] == ["a", "b", "c"]
    assert [each.name for each in choose_ahead(NodeImages(images), 100).images] == ["a", "c"]
    assert choose_ahead(NodeImages(images), 9) == NodeImages()


def test_a_program_is_fetched_ahead_with_its_image_and_first() -> None:
    program = NodeProgram(NodeImage("kube", 20), "amd64", "/usr/bin/kube", "0" * 64, 80)
    images = NodeImages((NodeImage("a", 40),), (program,))
    assert choose_ahead(images, 140) == images
    assert choose_ahead(images, 100) == NodeImages((), (program,))
    assert choose_ahead(images, 99) == NodeImages((NodeImage("a", 40),))


def test_a_quarter_of_the_memory_is_enough(tmp_path: Path) -> None:
    assert memory_budget(tmp_path) == 0
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal:  9000 kB\nMemAvailable:     4000 kB\n")
    assert memory_budget(tmp_path) == 1000 * 1024
    (tmp_path / "proc/meminfo").write_text("nothing")
    assert memory_budget(tmp_path) == 0


def test_a_worker_has_no_stage_of_its_own_for_it() -> None:
    assert stage_for("worker") == "Writing image to disk"
    assert {stage_for(role) for role in ("master", "bootstrap", "arbiter")} == {
        "Copying registry data to disk"
    }
