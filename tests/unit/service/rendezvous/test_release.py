# SPDX-License-Identifier: Apache-2.0
"""The release of a site: who is told when it is there, or what keeps it away, and what its add-ons take."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path

import pytest

from muster.errors import UserError
from muster.release.build.reading import find_add_ons, load_recipe
from muster.release.build.recipe import find_home
from muster.release.model import Needs, Release
from muster.service.refusals import Unavailable
from muster.service.rendezvous.release import ReleasePlace, SiteRelease, check_kind
from muster.service.rendezvous.serving import add_ons_of
from muster.service.state import AddOn
from tests.releases import make_release
from tests.unit.service.running import finish


@pytest.fixture
def release(tmp_path: Path) -> Release:
    return make_release(tmp_path, "gauge")


def test_what_an_add_on_takes_of_a_host_is_as_its_description_says(release: Release) -> None:
    (gauge,) = add_ons_of(release, ("gauge", "unknown"))
    assert gauge == AddOn(id="gauge", cpu_millicores=10, ram_mib=20, disk_mib=7)
    add_on = dataclasses.replace(release.add_ons[0], host=Needs(1, 2, 3), cluster=Needs(10, 20, 30))
    both = dataclasses.replace(release, add_ons=(add_on,))
    assert add_ons_of(both, ("gauge",)) == (AddOn(id="gauge", cpu_millicores=11, ram_mib=22, disk_mib=33),)
    assert add_ons_of(release, ()) == ()


def test_every_add_on_of_ours_says_what_it_takes() -> None:
    home = find_home()
    for each in load_recipe(home, tuple(find_add_ons(home))).extras:
        assert each.host.memory_mib + each.cluster.memory_mib > 0, each.id


class Found(SiteRelease):
    """One that is there at once."""

    def __init__(self, release: Release) -> None:
        super().__init__(ReleasePlace("registry.example.com/release:1", "amd64"))
        self.release = release

    async def _read(self) -> Release:
        return self.release


def test_who_is_told_of_a_release_can_use_it(release: Release) -> None:
    site, noted = Found(release), []
    with pytest.raises(UserError, match="not there yet: it is being fetched"):
        site.find("", "")

    async def note(found: Release) -> None:
        assert site.find("", "") is found
        noted.append(found)

    finish(site.fetch(note))
    assert noted == [release]


def test_each_trouble_is_told_once_and_what_was_read_is_not_read_again(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    troubles = ["nobody answers", "nobody answers", "it is no release"]
    site, told, noted, read = Found(release), [], [], []

    async def fail() -> Release:
        read.append(1)
        if troubles:
            raise UserError(troubles.pop(0), hint="")
        return release

    async def note_trouble(trouble: str) -> None:
        told.append(trouble)

    async def note(found: Release) -> None:
        noted.append(found)
        if len(noted) == 1:
            raise Unavailable("the store is away", hint="")

    async def pause(_seconds: float) -> None:
        pass

    monkeypatch.setattr(site, "_read", fail)
    monkeypatch.setattr(asyncio, "sleep", pause)
    finish(site.fetch(note, note_trouble))
    assert told == ["nobody answers", "it is no release", "the store is away"]
    assert (len(read), noted) == (4, [release, release])


def place(kind: str, refused: str = "") -> ReleasePlace:
    """Where a release is, and what the medium says of it."""
    image = "registry.example.com/release:1"
    return ReleasePlace(image, "amd64", kind=kind, find_refused=lambda _: refused)


def test_refuses_a_release_of_another_kind_than_that_of_the_medium(release: Release) -> None:
    check_kind(place("kubernetes", "not judged again"), release)
    with pytest.raises(UserError, match="the medium was made for a release of kind openshift") as caught:
        check_kind(place("openshift"), release)
    assert "registry.example.com/release:1 is of kind kubernetes" in caught.value.message
    assert "make the medium again" in caught.value.hint


def test_judges_the_site_of_a_medium_that_does_not_say_its_kind(release: Release) -> None:
    check_kind(place(""), release)
    with pytest.raises(UserError, match="fips: not done"):
        check_kind(place("", "fips: not done"), release)
