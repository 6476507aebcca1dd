# SPDX-License-Identifier: Apache-2.0
"""The programs of a host get onto its disk as they are run: its first boot has nothing to unpack.

Each is called by what it hashes to, and gets that name when all of it is there and right.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from muster.errors import UserError, cannot
from muster.files import part_of, remove_leftovers, sync_folder
from muster.node.bringing import Count, bring
from muster.node.spoiled import Spoiled, let_go
from muster.node.stocking import read_back, size_of
from muster.progress import SILENT
from muster.release.layers import Pick, extract
from muster.release.mirror.sides import FromStore, Origin
from muster.release.node.images import NodeImages, NodeProgram
from muster.release.oci.reference import parse_reference
from muster.release.off_loop import off_loop
from muster.release.store.flaws import BadBlob
from muster.release.store.store import Store
from muster.units import render_size


async def take_out(
    program: NodeProgram, origins: Sequence[Origin], store: Store, folder: Path, count: Count
) -> None:
    """Put a program into a folder. Its image goes through a store: that comes in parts, however often."""
    await bring((program.image,), origins, store, count)
    pick = Pick(program.path, folder / program.sha256, sha256=program.sha256)
    try:
        source = await FromStore(store).source(parse_reference(program.image.name))
        await extract(source, pick, architecture=program.architecture)
    except BadBlob as error:
        await off_loop(read_back, (), store, SILENT)
        raise Spoiled(error.message) from error


async def holds(folder: Path, program: NodeProgram) -> bool:
    """Whether a folder has a program, as the disk gives it back; one that is wrong is not there any more."""
    return await off_loop(_holds, folder / program.sha256)


def _holds(path: Path) -> bool:
    let_go(path)
    try:
        with path.open("rb") as file:
            is_right = hashlib.file_digest(file, "sha256").hexdigest() == path.name
        if not is_right:
            path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise cannot("read", path, error) from error
    return is_right


async def prove(folder: Path, program: NodeProgram) -> None:
    """`Spoiled` when the disk did not keep a program: it is gone then, and may be brought again."""
    if not await holds(folder, program):
        raise Spoiled(f"{program.path} of {program.image.name} is another one")


def prepare(folder: Path, images: NodeImages, store: Store) -> None:
    """Make a folder for programs, if the disk has room for them and for what its store lacks of images."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)  # Everybody may run them, whatever the umask of who installs them.
        remove_leftovers(folder, [each.sha256 for each in images.programs])
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise cannot("write to", folder, error) from error
    missing = [each for each in images.programs if not (folder / each.sha256).exists()]
    whole = images.size_bytes + sum(each.image.size_bytes for each in missing)
    wanted = max(0, whole - size_of(store)) + sum(each.size_bytes for each in missing)
    if wanted > free:
        raise UserError(
            f"the disk has no room for the programs and images that this host starts from: they are "
            f"{render_size(wanted)}, and {render_size(free)} are free",
            hint="choose a larger installation disk for this host",
        )


def copy(source: Path, to: Path) -> None:
    """A program that was taken out elsewhere."""
    part = part_of(to)
    try:
        shutil.copy(source, part)
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(to)
        sync_folder(to.parent)
    except OSError as error:
        raise cannot("write", to, error) from error
    finally:
        part.unlink(missing_ok=True)
