# SPDX-License-Identifier: Apache-2.0
"""Makes what images come in: archives of docker save, the storage of registries."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from muster.release.oci.digest import Digest, digest_of, hex_of
from muster.release.store.store import Store


def write_tar(path: Path, files: Mapping[str, bytes], links: Mapping[str, str] | None = None) -> Path:
    with tarfile.open(path, "w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        for name, target in (links or {}).items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    return path


def pack_folder(folder: Path, path: Path, top: str = "") -> Path:
    with tarfile.open(path, "w") as archive:
        archive.add(folder, top or ".")
    return path


def config_of(layers: Sequence[bytes]) -> bytes:
    diffs = [digest_of(layer) for layer in layers]
    return json.dumps({"os": "linux", "rootfs": {"type": "layers", "diff_ids": diffs}}).encode()


def docker_files(
    layers: Sequence[bytes], tags: Sequence[str] | None, *, packed: bool = False
) -> dict[str, bytes]:
    """The old form: folders with layer.tar, the table last."""
    config = config_of(layers)
    files = {
        f"{number}{number}/layer.tar": gzip.compress(layer) if packed else layer
        for number, layer in enumerate(layers)
    }
    table = [{"Config": f"{hex_of(digest_of(config))}.json", "RepoTags": tags, "Layers": list(files)}]
    files[f"{hex_of(digest_of(config))}.json"] = config
    files["manifest.json"] = json.dumps(table).encode()
    return files


def registry_storage(
    store: Store, root: Path, tags: Mapping[str, Digest], loose: Mapping[str, Digest]
) -> Path:
    """The storage of a registry that holds the blobs of a store."""
    top = root / "docker/registry/v2"
    for digest, _ in store.blobs.everything():
        path = top / "blobs/sha256" / hex_of(digest)[:2] / hex_of(digest) / "data"
        path.parent.mkdir(parents=True)
        shutil.copyfile(store.blobs.path(digest), path)
    for name, digest in tags.items():
        repository, _, tag = name.partition(":")
        _link(top / "repositories" / repository / "_manifests/tags" / tag / "current", digest)
        _link(top / "repositories" / repository / "_manifests/revisions/sha256" / hex_of(digest), digest)
    for repository, digest in loose.items():
        _link(top / "repositories" / repository / "_manifests/revisions/sha256" / hex_of(digest), digest)
        _link(top / "repositories" / repository / "_layers/sha256" / hex_of(digest), digest)
    return root


def _link(folder: Path, digest: Digest) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "link").write_text(digest)
