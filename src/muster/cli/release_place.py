# SPDX-License-Identifier: Apache-2.0
"""Which store and which release the verbs of `muster release` work on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click

from muster.errors import UserError
from muster.frozen import dataclass
from muster.image.cache.places import NOWHERE, find_cache_root
from muster.release.look import Found, choose_release, load_release
from muster.release.model import Release
from muster.release.store.store import LAYOUT, Store, open_store

GO_NAMES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
"""What Go, and so every image, calls kinds of machines."""
store_option = click.option(
    "--store",
    "store_dir",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="The content store.  [default: one in the cache]",
)


@dataclass(frozen=True)
class Chosen:
    """A release, and where it is."""

    store: Store
    found: Found
    release: Release


def find_cache(cache_dir: str | None) -> Path:
    """The cache; it has to be somewhere."""
    root = find_cache_root(cache_dir, os.environ, Path.home)
    if root == NOWHERE:
        raise UserError(
            "there is no cache: neither HOME nor XDG_CACHE_HOME is set",
            hint="name a directory with --cache-dir or MUSTER_CACHE",
        )
    return root


def store_place(store_dir: Path | None, cache_dir: str | None) -> Path:
    """Where releases are kept: the flag, else a folder of the cache."""
    if store_dir is not None and not str(store_dir).strip():
        raise UserError("--store is empty", hint="name a directory, or leave the flag out")
    return store_dir if store_dir is not None else find_cache(cache_dir) / "release" / "store"


def host_architecture() -> str:
    """This machine's, as Go names it."""
    machine = os.uname().machine
    return GO_NAMES.get(machine, machine)


def choose(source: str | None, store_dir: Path | None, cache_dir: str | None) -> Chosen:
    """The release that is meant: the only one of a store, or the one that has a name there."""
    wanted, place = source or "", store_place(store_dir, cache_dir)
    if source and (Path(source) / LAYOUT).is_file():
        wanted, place = "", Path(source)
    store = open_store(place)
    found = choose_release(store, wanted, host_architecture())
    return Chosen(store, found, load_release(store, found))
