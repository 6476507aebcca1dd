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
    draft = _guess(directory, Path(base_image.source or ""))
    with draft or nullcontext():
        yield draft


def _guess(directory: Path, source: Path) -> Draft | None:
    try:
        return start_draft(source, directory) if source.is_file() and _looks_changed(directory) else None
    except (OSError, ValueError):
        return None


def _looks_changed(directory: Path) -> bool:
    """Whether there is no image that is newer than the files of the site."""
    images = [path.stat().st_mtime_ns for path in directory.glob("agent.*.iso")]
    inputs = [path.lstat().st_mtime_ns for pattern in _INPUTS for path in directory.glob(pattern)]
    return bool(inputs) and (not images or max(inputs) > max(images))
