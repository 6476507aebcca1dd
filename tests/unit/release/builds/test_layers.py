# SPDX-License-Identifier: Apache-2.0
"""Layers and images are the same bytes for the same content, whatever else differs."""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
import tarfile
from pathlib import Path

import pytest

from muster.errors import ExternalError
from muster.release.build.images import Draft, make_image
from muster.release.build.layers import Entry, Layer, write_layer
from muster.release.oci.digest import digest_of

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def _write(entries: list[Entry]) -> tuple[Layer, bytes]:
    target = io.BytesIO()
    return write_layer(entries, target), target.getvalue()


def _entries(file: Path) -> list[Entry]:
    return [
        Entry("usr/bin/saw", link="tool", mode=0o777),
        Entry("usr/bin/tool", file, mode=0o755),
        Entry("etc/motd", b"hello\n"),
    ]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tool"
    path.write_bytes(bytes(range(256)) * 20_000)
    return path


def test_a_layer_holds_what_it_is_made_of(file: Path) -> None:
    layer, data = _write(_entries(file))
    with tarfile.open(fileobj=io.BytesIO(zstd.decompress(data))) as tar:
        members = {member.name: member for member in tar}
        content = tar.extractfile("usr/bin/tool")
        assert content is not None
        assert content.read() == file.read_bytes()
    assert [*members] == ["etc", "etc/motd", "usr", "usr/bin", "usr/bin/saw", "usr/bin/tool"]
    assert {(member.uid, member.gid, member.uname, member.mtime) for member in members.values()} == {
        (0, 0, "root", 0)
    }
    assert [members[name].mode for name in ("usr", "etc/motd", "usr/bin/tool")] == [0o755, 0o644, 0o755]
    assert members["usr/bin/saw"].linkname == "tool"
    assert (layer.blob.digest, layer.blob.size_bytes) == (digest_of(data), len(data))
    assert layer.diff_id == digest_of(zstd.decompress(data))


def test_a_layer_does_not_depend_on_order_time_or_mode(file: Path) -> None:
    before = _write(_entries(file))
    os.utime(file, (1, 1))
    file.chmod(0o600)
    assert _write(_entries(file)[::-1]) == before


def test_these_very_bytes() -> None:
    """Another version of the compression, or of Python, must not change what a release is, unseen."""
    layer, data = _write([Entry("etc/motd", b"hello\n"), Entry("etc/motd2", link="motd", mode=0o777)])
    assert layer.diff_id == "sha256:" + hashlib.sha256(zstd.decompress(data)).hexdigest()
    assert layer.diff_id == "sha256:ebc7b590b52e2d6da5bbc1df430678d11bb54a7811dd6d08d041fb24035dab19"


def test_progress_is_told(file: Path) -> None:
    told: list[int] = []
    write_layer(_entries(file), io.BytesIO(), told.append)
    assert sum(told) >= file.stat().st_size


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(ExternalError, match=r"cannot read .*gone"):
        _write([Entry("gone", tmp_path / "gone")])


def test_an_image_says_what_it_is() -> None:
    layer, _ = _write([Entry("etc/motd", b"hello\n")])
    draft = Draft("arm64", "2026-01-02T03:04:05Z", ("/usr/bin/tool",), "65532:65532", {"b": "2", "a": "1"})
    made = make_image(draft, (layer, layer))
    config = json.loads(made.config)
    assert (config["architecture"], config["os"], config["created"]) == (
        "arm64",
        "linux",
        "2026-01-02T03:04:05Z",
    )
    assert config["config"] == {
        "Entrypoint": ["/usr/bin/tool"],
        "Env": ["PATH=/usr/bin"],
        "User": "65532:65532",
        "Labels": {"a": "1", "b": "2"},
    }
    assert config["rootfs"]["diff_ids"] == [layer.diff_id] * 2
    assert made.manifest.config is not None
    assert made.manifest.config.digest == digest_of(made.config)
    assert made.size_bytes == len(made.manifest.data) + len(made.config) + layer.blob.size_bytes
    assert make_image(draft, (layer, layer)) == made
