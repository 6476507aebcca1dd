# SPDX-License-Identifier: Apache-2.0
"""The release on the medium that a host booted: nobody asks a registry for it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from muster.model.medium import CARRIED_RELEASE
from muster.model.meeting import ENVIRONMENT
from muster.release.look import find_releases
from muster.release.model import Release
from muster.release.store.store import open_store
from muster.service.interactive.medium import load_generic
from muster.service.interactive.stock import stock_of
from muster.service.rendezvous.release import ReleasePlace, SiteRelease
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
