# SPDX-License-Identifier: Apache-2.0
"""Begins to copy a base image while the rest of Muster is loaded and the site's files are checked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Final

from muster.cli.options import BaseImageFlags
from muster.image.draft import Draft, start_draft

_INPUTS: Final = ("*.yaml", "*.yml", "cluster-manifests/*", "mirror/*", "openshift/*")


@contextmanager
def copy_ahead(directory: Path, base_image: BaseImageFlags) -> Iterator[Draft | None]:
    """A copy of the base image that is being made, when it looks as if one will be needed."""
    source = Path(base_image.source or "")
    with start_draft(source, directory) if _is_likely(directory, source) else nullcontext() as draft:
        yield draft


def _is_likely(directory: Path, source: Path) -> bool:
    try:
        return source.is_file() and _looks_changed(directory)
    except (OSError, ValueError):
        return False


def _looks_changed(directory: Path) -> bool:
    """Whether there is no image that is newer than the files of the site."""
    images = [path.stat().st_mtime_ns for path in directory.glob("agent.*.iso")]
    inputs = [path.lstat().st_mtime_ns for pattern in _INPUTS for path in directory.glob(pattern)]
    return bool(inputs) and (not images or max(inputs) > max(images))
