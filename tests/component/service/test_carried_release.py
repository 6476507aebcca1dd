# SPDX-License-Identifier: Apache-2.0
"""The release of a host: from the medium that it booted, or a registry; by digest, and signed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from muster.config.formats.registries import parse_registries
from muster.errors import UserError
from muster.model.medium import CARRIED_RELEASE, RELEASE_KEY
from muster.model.meeting import ENVIRONMENT
from muster.model.tree import Source
from muster.release.image_signature import sign_image, signature_place
from muster.release.look import Found, find_releases
from muster.release.model import Release
from muster.release.oci.client import Settings
from muster.release.oci.digest import Digest
from muster.release.oci.reference import parse_reference
from muster.release.store.store import Store, open_store
from muster.service.interactive.medium import load_generic
from muster.service.interactive.stock import stock_of
from muster.service.rendezvous.release import ReleasePlace, SiteRelease
from muster.signature import render_public_key
from tests.component.release.served import start_registry
from tests.component.service.whole import small_release

_MEETING = "NODE_ZERO_IP=192.0.2.10\nCLUSTER_ID=a\nINFRA_ENV_ID=b\n"


@pytest.fixture
def carried(tmp_path: Path) -> Release:
    """A release, and a medium that carries it at the root of a host."""
    medium = tmp_path / CARRIED_RELEASE
    medium.parent.mkdir(parents=True)
    (tmp_path / "parts").mkdir()
    release = small_release(tmp_path / "parts")
    (tmp_path / "parts/store").rename(medium)
    return release


def test_a_site_gets_it_from_there(tmp_path: Path, carried: Release) -> None:
    (found,) = find_releases(open_store(tmp_path / CARRIED_RELEASE))
    site = SiteRelease(ReleasePlace(found.name, "amd64", root=tmp_path))
    asyncio.run(asyncio.wait_for(site.fetch(), 60))
    assert site.find("", "").version == carried.version


def test_people_are_offered_it(tmp_path: Path, carried: Release) -> None:
    place = tmp_path / ENVIRONMENT.lstrip("/")
    place.parent.mkdir(parents=True)
    place.write_text(_MEETING)
    stock = stock_of(load_generic(tmp_path))
    assert stock.find(carried.version, "x86_64").version == carried.version


KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
PUBLIC = render_public_key(KEY.public_key())
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def stored(tmp_path: Path) -> tuple[Store, Found]:
    store = open_store(tmp_path / CARRIED_RELEASE)
    (found,) = find_releases(store)
    return store, found


def fetch(place: ReleasePlace) -> str:
    """The version of the release; else what is wrong with it, as the service and the console show it."""
    site = SiteRelease(place)

    async def until_known() -> str:
        told: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def trouble(why: str) -> None:
            told.set_result(why)

        async def found(release: Release) -> None:
            told.set_result(release.version)

        task = asyncio.ensure_future(site.fetch(found, trouble))
        try:
            return await asyncio.wait_for(asyncio.shield(told), 60)
        finally:
            task.cancel()

    return asyncio.run(until_known())


def at(tmp_path: Path, image: str, key: str = PUBLIC) -> ReleasePlace:
    return ReleasePlace(image, "amd64", root=tmp_path, key=key)


def test_a_release_with_the_right_signature_is_used(tmp_path: Path, carried: Release) -> None:
    store, found = stored(tmp_path)
    sign_image(store, parse_reference(found.name), found.image.digest, KEY)
    for image in (found.name, f"{found.name}@{found.image.digest}"):
        assert fetch(at(tmp_path, image)) == carried.version


@pytest.mark.usefixtures("carried")
def test_a_release_without_a_signature_is_refused(tmp_path: Path) -> None:
    _, found = stored(tmp_path)
    assert "a signature is required, and none of the release" in fetch(at(tmp_path, found.name))


@pytest.mark.usefixtures("carried")
def test_a_release_that_another_key_signed_is_refused(tmp_path: Path) -> None:
    store, found = stored(tmp_path)
    sign_image(store, parse_reference(found.name), found.image.digest, OTHER)
    assert "is not signed by the required key" in fetch(at(tmp_path, found.name))


@pytest.mark.usefixtures("carried")
def test_a_signature_of_another_release_is_refused(tmp_path: Path) -> None:
    """A valid signature of the right key, moved to the place of one for this release."""
    store, found = stored(tmp_path)
    reference = parse_reference(found.name)
    place = sign_image(store, reference, Digest(f"sha256:{'0' * 64}"), KEY)
    signature = store.contents().images[str(place)]
    store.name({str(signature_place(reference, found.image.digest)): signature})
    assert "is not signed by the required key" in fetch(at(tmp_path, found.name))


@pytest.mark.usefixtures("carried")
def test_other_content_under_the_tag_is_refused_by_the_digest(tmp_path: Path) -> None:
    """The registry of the site has something else under the tag than the medium was made for."""
    store, found = stored(tmp_path)
    meant = f"sha256:{'0' * 64}"
    with start_registry(store.root, tmp_path) as served:
        image = f"{served.place}/{parse_reference(found.name).repository}"
        tag = parse_reference(found.name).tag
        settings = Settings(insecure=frozenset({served.place}))

        def place(name: str) -> ReleasePlace:
            return ReleasePlace(name, "amd64", lambda: settings, tmp_path / "none")

        assert "cannot get" in fetch(place(f"{image}:{tag}@{meant}"))
        assert "cannot get" not in fetch(place(f"{image}:{tag}@{found.image.digest}"))


def test_signatures_come_from_mirrors_that_are_for_digests_only(tmp_path: Path, carried: Release) -> None:
    store, found = stored(tmp_path)
    reference = parse_reference(found.name)
    sign_image(store, reference, found.image.digest, KEY)
    with start_registry(store.root, tmp_path) as served:
        text = (
            f'[[registry]]\nlocation = "{reference.name}"\nblocked = true\n[[registry.mirror]]\n'
            f'location = "{served.place}/{reference.repository}"\npull-from-mirror = "digest-only"\n'
            "insecure = true\n"
        )
        conf, problems = parse_registries(Source("registries.conf", text))
        assert conf is not None, problems
        settings = Settings(registries=conf, insecure=frozenset({served.place}))
        image = f"{found.name}@{found.image.digest}"
        place = ReleasePlace(image, "amd64", lambda: settings, tmp_path / "none", PUBLIC)
        assert fetch(place) == carried.version


def test_people_get_only_signed_releases_of_a_medium_with_a_key(tmp_path: Path, carried: Release) -> None:
    place = tmp_path / ENVIRONMENT.lstrip("/")
    place.parent.mkdir(parents=True)
    place.write_text(_MEETING)
    (tmp_path / RELEASE_KEY.lstrip("/")).write_text(PUBLIC)
    stock = stock_of(load_generic(tmp_path))
    with pytest.raises(UserError, match="its signature is being checked"):
        stock.find(carried.version, "x86_64")
    asyncio.run(stock.fetch())
    with pytest.raises(UserError, match="a signature is required"):
        stock.find(carried.version, "x86_64")
    store, found = stored(tmp_path)
    sign_image(store, parse_reference(found.name), found.image.digest, KEY)
    signed = stock_of(load_generic(tmp_path))
    asyncio.run(signed.fetch())
    assert signed.find(carried.version, "x86_64").version == carried.version


def test_a_release_of_another_kind_than_that_of_the_medium_is_refused(
    tmp_path: Path, carried: Release
) -> None:
    found = stored(tmp_path)[1]

    def place(kind: str, refused: str = "") -> ReleasePlace:
        return ReleasePlace(found.name, "amd64", root=tmp_path, kind=kind, find_refused=lambda _: refused)

    assert fetch(place("kubernetes")) == carried.version
    assert "made for a release of kind openshift" in fetch(place("openshift"))
    assert fetch(place("")) == carried.version
    assert fetch(place("", "fips: not done")) == "fips: not done"
