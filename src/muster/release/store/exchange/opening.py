# SPDX-License-Identifier: Apache-2.0
"""What somebody has may be a layout, an archive or the storage of a registry: a look at it tells which."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from muster.errors import UserError
from muster.release.store.exchange.docker import DockerArchive, is_docker_archive
from muster.release.store.exchange.layout import Layout, is_layout
from muster.release.store.exchange.registry_tree import RegistryTree, is_registry_tree
from muster.release.store.exchange.source import Source
from muster.release.store.exchange.tree import Tree, open_tree

NOWHERE: Final = "localhost"
"""The registry of images whose origin does not say."""


@contextlib.contextmanager
def open_source(path: Path, spool: Path, registry: str = NOWHERE) -> Iterator[Source]:
    """The images in a folder or an archive; an archive that is compressed is unpacked into ``spool``."""
    with open_tree(path, spool) as tree:
        yield _recognise(tree, registry)


def _recognise(tree: Tree, registry: str) -> Source:
    if is_layout(tree):
        return Layout(tree)
    if is_docker_archive(tree):
        return DockerArchive(tree)
    if is_registry_tree(tree):
        return RegistryTree(tree, registry)
    raise UserError(
        f"{tree.origin} holds no images: it has neither oci-layout nor manifest.json nor docker/registry/v2",
        hint="name a store, an OCI layout, an archive of `docker save`, or the storage of a registry",
    )
