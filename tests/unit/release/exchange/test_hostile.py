# SPDX-License-Identifier: Apache-2.0
"""Archives with random damage: an image comes as it was, or a reason is given; nothing else happens."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from muster.errors import MusterError
from muster.release.store.exchange.bring import bring_images
from muster.release.store.exchange.names import settle_names
from muster.release.store.exchange.opening import open_source
from muster.release.store.store import create_store
from muster.release.store.verify import verify_store
from tests.stores import NAME, noise, put_image
from tests.unit.release.exchange.sources import docker_files, pack_folder, registry_storage, write_tar

WORDS = (b"\xff" * 8, b"../../..", b"77777777", b'"size":-', b"[[[[[[[[", b"99999999", bytes(8))


def mutate(data: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(data))
    match chance.randrange(4):
        case 0:
            data[at] ^= 1 << chance.randrange(8)
        case 1:
            del data[at : at + chance.choice((1, 100, 512))]
        case 2:
            data[at:at] = chance.randbytes(chance.choice((1, 512)))
        case _:
            data[at : at + 8] = chance.choice(WORDS)


def mend_headers(data: bytearray) -> None:
    """Make the checksums right again, so that the damage is looked at."""
    for at in range(0, len(data) - 511, 512):
        if data[at + 257 : at + 262] == b"ustar":
            data[at + 148 : at + 156] = b" " * 8
            data[at + 148 : at + 156] = b"%06o\0 " % sum(data[at : at + 512])


@pytest.mark.parametrize("kind", ["layout", "docker", "packed", "registry"])
def test_random_damage(tmp_path: Path, kind: str) -> None:
    origin = create_store(tmp_path / "origin")
    image = put_image(origin, [noise(1, 600), noise(2, 300)], NAME)
    storage = registry_storage(origin, tmp_path / "storage", {"app/web:v1": image.digest}, {})
    path = tmp_path / "archive.tar"
    match kind:
        case "layout":
            pack_folder(origin.root, path)
        case "registry":
            pack_folder(storage, path)
        case _:
            write_tar(path, docker_files([noise(1, 600)], [NAME], packed=kind == "packed"))
    whole, chance = path.read_bytes(), random.Random(kind)
    store = create_store(tmp_path / "store")
    refusals: list[MusterError] = []
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 2, 5))):
            mutate(data, chance)
        mend_headers(data)
        path.write_bytes(data)
        try:
            with open_source(path, tmp_path) as source:
                bring_images(store, source, settle_names(source.images(), "r.example.com/some/where"))
        except MusterError as error:
            refusals.append(error)
    assert refusals
    assert all(error.message and error.hint for error in refusals)
    assert not verify_store(store, full=True).faults
    assert {entry.name for entry in tmp_path.iterdir()} == {"archive.tar", "origin", "storage", "store"}
