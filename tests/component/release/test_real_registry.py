# SPDX-License-Identifier: Apache-2.0
"""Docker's own registry, with TLS and a login, takes what we push and gives it back."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from muster.release.at_registry import RegistrySource, RegistryTarget
from muster.release.copying import copy_image, pull, push
from muster.release.oci.client import Settings, open_client
from muster.release.oci.logins import Logins, parse_logins
from muster.release.oci.manifest import (
    OCI_CONFIG,
    OCI_LAYER,
    Descriptor,
    Manifest,
    Platform,
    render_index,
    render_manifest,
)
from muster.release.oci.reference import Reference, parse_reference
from muster.release.oci.transport import Limits
from muster.release.oci.trouble import Unreachable
from muster.release.store.store import Store, create_store
from muster.toolbox import Toolbox
from tests.component.release.docker_registry import start_docker_registry
from tests.component.release.rough_registry import BASIC

LAYERS = [random.Random(number).randbytes(size) for number, size in enumerate((10 << 20, 70_000, 3))]


@dataclass
class Real:
    """A registry that serves, and how to get in."""

    host: str
    settings: Settings
    log: Path

    def reference(self, text: str) -> Reference:
        return parse_reference(f"{self.host}/{text}")


@pytest.fixture
def real(toolbox: Toolbox, tmp_path: Path) -> Iterator[Real]:
    with start_docker_registry(toolbox, tmp_path) as registry:
        login = {"auth": BASIC.removeprefix("Basic ")}
        logins = parse_logins(json.dumps({"auths": {registry.host: login}}))
        settings = Settings(logins=logins, authorities=(registry.authority.pem,), limits=Limits(5, 20))
        yield Real(registry.host, settings, registry.log)


def fill(store: Store) -> Manifest:
    """An index of two images that share a layer."""
    config = Descriptor(OCI_CONFIG, store.blobs.put(b'{"architecture": "amd64", "os": "linux"}'), 40)
    layers = [Descriptor(OCI_LAYER, store.blobs.put(layer), len(layer)) for layer in LAYERS]
    images = []
    for architecture, parts in (("amd64", layers[:2]), ("arm64", layers[1:])):
        manifest = render_manifest(config, parts)
        store.blobs.put(manifest.data)
        images.append(
            Descriptor(manifest.media_type, manifest.digest, len(manifest.data), Platform(architecture))
        )
    index = render_index(images)
    store.blobs.put(index.data)
    return index


def test_there_and_back(real: Real, store: Store, tmp_path: Path) -> None:
    async def go() -> None:
        index = fill(store)
        async with open_client(real.settings) as client:
            await push(client, store, index.descriptor, real.reference("one/release:v1"))
            fresh = create_store(tmp_path / "fresh")
            await pull(client, real.reference("one/release:v1"), fresh)
            for part in fresh.walk(index.descriptor):
                path = fresh.blobs.path(part.digest)
                assert path.read_bytes() == store.blobs.path(part.digest).read_bytes()
            # Between repositories blobs are mounted: none of them passes here.
            source = RegistrySource(client, real.reference("one/release:v1"))
            await copy_image(source, RegistryTarget(client, real.reference("other:v2")))
            assert (await client.manifest(real.reference("other:v2"))).manifest == index
            assert '"POST /v2/other/blobs/uploads/?mount=' in real.log.read_text()
            assert '"PUT /v2/other/blobs/uploads/' not in real.log.read_text()
            # Again: nothing is left to do.
            copied = await push(client, store, index.descriptor, real.reference("one/release:v2"))
            assert (copied.blobs, copied.size_bytes) == (0, 0)
            assert await client.tags(real.reference("one/release")) == ("v1", "v2")

    asyncio.run(go())


def test_from_an_offset(real: Real, store: Store) -> None:
    async def go() -> None:
        index = fill(store)
        async with open_client(real.settings) as client:
            await push(client, store, index.descriptor, real.reference("a:v1"))
            blob = Descriptor(OCI_LAYER, store.blobs.put(LAYERS[0]), len(LAYERS[0]))
            rest = [chunk async for chunk in client.blob(real.reference("a:v1"), blob, 1 << 20)]
            assert b"".join(rest) == LAYERS[0][1 << 20 :]

    asyncio.run(go())


def test_who_has_no_login_is_told(real: Real, store: Store) -> None:
    async def go() -> None:
        index = fill(store)
        strange = Settings(logins=Logins(), authorities=real.settings.authorities)
        async with open_client(strange) as client:
            with pytest.raises(
                Unreachable, match=f"{real.host} wants a login to pull from a, and there is none"
            ):
                await push(client, store, index.descriptor, real.reference("a:v1"))

    asyncio.run(go())
