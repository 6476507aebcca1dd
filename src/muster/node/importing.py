# SPDX-License-Identifier: Apache-2.0
"""At the first boot from the disk, containerd gets the images that the installer copied there.

When all of it is in use the store is removed: it would only take room.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from muster.errors import ExternalError, MusterError
from muster.machine import Machine
from muster.release.node.images import FILE, STORE, NodeImages, parse_images
from muster.release.off_loop import off_loop
from muster.release.store.exchange.save import new_file, save_archive
from muster.release.store.store import open_store, remove_store

_CTR: Final = ("ctr", "--namespace", "k8s.io")
"""As the kubelet's containers are."""
_DEADLINE_S: Final = 600.0
_ARCHIVE: Final = "images.tar"
Say: TypeAlias = Callable[[str], None]


async def take_in(machine: Machine, say: Say) -> None:
    """Hand the images on the disk to containerd. What it did not get is told: registries are asked."""
    folder = _at(machine, STORE)
    images = await off_loop(_load, _at(machine, FILE))
    wanted = [image.name for image in images.images]
    try:
        # All at once: on slow machines a program takes longer to start than what it does.
        await _import(machine, folder, wanted)
    except MusterError:
        for name in wanted:
            try:
                await _import(machine, folder, [name])
            except MusterError as error:
                say(f"{error.message}; its registry is asked for {name}")
    said = await machine.ask((*_CTR, "images", "list", "--quiet"), deadline_s=_DEADLINE_S)
    if not {*wanted} <= {*said.out.splitlines()}:
        return
    await machine.ask(("sync", "--file-system", str(folder)), deadline_s=_DEADLINE_S)
    await off_loop(remove_store, folder)
    say(f"containerd has all {len(wanted)} images that were copied to this host")


async def _import(machine: Machine, folder: Path, names: Sequence[str]) -> None:
    archive = folder.parent / _ARCHIVE
    try:
        await off_loop(_save, folder, names, archive)
        said = await machine.ask((*_CTR, "images", "import", str(archive)), deadline_s=_DEADLINE_S)
    finally:
        archive.unlink(missing_ok=True)
    if not said.is_ok:
        raise ExternalError(f"containerd did not take an image: {said.trouble}")


def _save(folder: Path, names: Sequence[str], archive: Path) -> None:
    """Every blob is checked on its way. containerd takes a name with a digest as it is."""
    store = open_store(folder)
    there = store.contents().images
    if any(name not in there for name in names):
        raise ExternalError("it is not on the disk of this host")
    with new_file(archive, replace=True) as write:
        save_archive(store, {name: there[name] for name in names}, write, docker=False)


def _load(path: Path) -> NodeImages:
    try:
        return parse_images(path.read_bytes())
    except OSError as error:
        raise ExternalError(
            f"{path} does not say which images this host needs: {error}", hint="the service writes it"
        ) from error


def _at(machine: Machine, path: str) -> Path:
    return machine.root / path.lstrip("/")
