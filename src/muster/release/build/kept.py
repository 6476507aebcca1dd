# SPDX-License-Identifier: Apache-2.0
"""What was built once and is kept: an interrupted build goes on with it, and the next one starts from it.

<cache>/release/programs/<name>/    a program, or what it printed, and record.json
<cache>/release/layers/<name>/      a layer, packed, and record.json
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from muster.folders import make_folder, mark_cache, remove_parts, start_batch
from muster.frozen import dataclass
from muster.release.build.layers import Layer
from muster.release.build.modules import Module, parse_modules, render_modules
from muster.release.oci.digest import Digest
from muster.release.oci.manifest import OCI_LAYER_ZSTD, Descriptor

RECORD: Final = "record.json"
KEPT: Final = 2
"""How many of a program or layer stay, the new one included."""
RECENT_S: Final = 24 * 3600
"""Who used one so lately may want it again."""


@dataclass(frozen=True)
class Built:
    """A program that was compiled, or the file that it printed."""

    path: Path
    digest: Digest
    size_bytes: int
    modules: tuple[Module, ...]


@dataclass(frozen=True)
class Packed:
    """A layer, and where its bytes are."""

    path: Path
    layer: Layer


class Kept:
    """The two folders."""

    def __init__(self, cache_root: Path) -> None:
        self._root = cache_root
        self._programs = cache_root / "release" / "programs"
        self._layers = cache_root / "release" / "layers"

    def open(self) -> None:
        """Make the folders, and remove what a crash left. Whoever calls it holds the lock of the builds."""
        for place in (self._programs, self._layers):
            make_folder(place)
            remove_parts(place)
        mark_cache(self._root)

    def find_program(self, name: str) -> Built | None:
        folder = self._programs / name
        record = _find_record(folder)
        if record is None:
            return None
        try:
            path, size = folder / record["file"], int(record["sizeBytes"])
            if path.stat().st_size != size:
                return None
            return Built(path, Digest(record["digest"]), size, parse_modules(record["modules"]))
        except (OSError, KeyError, TypeError, ValueError):
            return None

    def find_layer(self, name: str) -> Packed | None:
        folder = self._layers / name
        record = _find_record(folder)
        if record is None:
            return None
        try:
            path, size = folder / record["file"], int(record["sizeBytes"])
            if path.stat().st_size != size:
                return None
            blob = Descriptor(OCI_LAYER_ZSTD, Digest(record["digest"]), size)
            return Packed(path, Layer(blob, Digest(record["diffId"])))
        except (OSError, KeyError, TypeError, ValueError):
            return None

    @contextlib.contextmanager
    def new_program(self, name: str) -> Iterator[Path]:
        """A folder to compile in; it appears as a whole when the block ends."""
        with _new_folder(self._programs, name) as folder:
            yield folder

    @contextlib.contextmanager
    def new_layer(self, name: str) -> Iterator[Path]:
        with _new_folder(self._layers, name) as folder:
            yield folder

    def forget_old(self, used: frozenset[str], now: float) -> None:
        """Remove what was made of older sources: each change gives a new one, and they would pile up."""
        for place in (self._programs, self._layers):
            kinds: defaultdict[str, list[tuple[float, Path]]] = defaultdict(list)
            for path in place.iterdir():
                if path.name not in used and not path.name.startswith("."):
                    with contextlib.suppress(OSError):
                        kinds[path.name.rpartition("-")[0]].append((path.stat().st_mtime, path))
            for found in kinds.values():
                for changed, path in sorted(found, reverse=True)[KEPT - 1 :]:
                    if now - changed > RECENT_S:
                        shutil.rmtree(path, ignore_errors=True)


def save_program(folder: Path, file: str, digest: Digest, modules: tuple[Module, ...]) -> None:
    """Say what a program is, beside it."""
    size = (folder / file).stat().st_size
    body = {"file": file, "digest": digest, "sizeBytes": size, "modules": render_modules(modules)}
    (folder / RECORD).write_text(json.dumps(body, indent=1), "utf-8")


def save_layer(folder: Path, file: str, layer: Layer) -> None:
    """Say what a layer is, beside it."""
    blob = layer.blob
    body = {"file": file, "digest": blob.digest, "sizeBytes": blob.size_bytes, "diffId": layer.diff_id}
    (folder / RECORD).write_text(json.dumps(body, indent=1), "utf-8")


@contextlib.contextmanager
def _new_folder(place: Path, name: str) -> Iterator[Path]:
    if (place / name).exists():  # It is not what it says.
        shutil.rmtree(place / name, ignore_errors=True)
    with start_batch(place) as batch, batch.new_folder(name) as folder:
        yield folder


def _find_record(folder: Path) -> dict[str, Any] | None:
    """What a folder says of what is in it; it is remembered when that was asked last."""
    try:
        record = json.loads((folder / RECORD).read_bytes())
    except (OSError, ValueError):
        return None
    with contextlib.suppress(OSError):
        os.utime(folder)
    return record if isinstance(record, dict) else None
