# SPDX-License-Identifier: Apache-2.0
"""At the first boot from the disk, containerd gets the images that the installer copied there.

By then the programs have been taken out of theirs. When all of it is in use the store is removed: it would
only take room.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from muster.errors import ExternalError, MusterError
from muster.machine import Machine
from muster.node.stocking import remove_store
from muster.release.node.images import FILE, STORE, NodeImages, parse_images
from muster.release.off_loop import off_loop
from muster.release.store.exchange.save import new_file, save_archive
from muster.release.store.store import open_store

PROGRAM: Final = "usr/local/bin/kube"
"""It gets its name when it is whole."""
_CTR: Final = ("ctr", "--namespace", "k8s.io")
"""As the kubelet's containers are."""
_DEADLINE_S: Final = 600.0
_ARCHIVE: Final = "images.tar"
Say: TypeAlias = Callable[[str], None]


async def take_in(machine: Machine, say: Say) -> None:
    """Hand the images on the disk to containerd. What it did not get is told: registries are asked."""
    folder = _at(machine, STORE)
    images = await off_loop(_load, _at(machine, FILE))
    wanted = [image.name for image in images.images if image.container]
    for name in wanted:
        try:
            await _import(machine, folder, name)
        except MusterError as error:
            say(f"{error.message}; its registry is asked for {name}")
    said = await machine.ask((*_CTR, "images", "list", "--quiet"), deadline_s=_DEADLINE_S)
    if not {*wanted} <= {*said.out.splitlines()} or not _at(machine, PROGRAM).exists():
        return
    await machine.ask(("sync", "--file-system", str(folder)), deadline_s=_DEADLINE_S)
    await off_loop(remove_store, folder)
    say(f"containerd has all {len(wanted)} images that were copied to this host")


async def _import(machine: Machine, folder: Path, name: str) -> None:
    archive = folder.parent / _ARCHIVE
    try:
        await off_loop(_save, folder, name, archive)
        said = await machine.ask((*_CTR, "images", "import", str(archive)), deadline_s=_DEADLINE_S)
    finally:
        archive.unlink(missing_ok=True)
    if not said.is_ok:
        raise ExternalError(f"containerd did not take an image: {said.trouble}")


def _save(folder: Path, name: str, archive: Path) -> None:
    """Every blob is checked on its way. containerd takes a name with a digest as it is."""
    store = open_store(folder)
    image = store.contents().images.get(name)
    if image is None:
        raise ExternalError("it is not on the disk of this host")
    with new_file(archive, replace=True) as write:
        save_archive(store, {name: image}, write, docker=False)


def _load(path: Path) -> NodeImages:
    try:
        return parse_images(path.read_bytes())
    except OSError as error:
        raise ExternalError(
            f"{path} does not say which images this host needs: {error}", hint="the service writes it"
        ) from error


def _at(machine: Machine, path: str) -> Path:
    return machine.root / path.lstrip("/")
