# SPDX-License-Identifier: Apache-2.0
"""Where images are pulled from: prefixes, mirrors, and the text of registries.conf."""

from __future__ import annotations

import tomllib

import pytest

from muster.model.install_config import ImageContentSource, ImageSource, SourcePolicy
from muster.model.registries import (
    Mirror,
    PullFromMirror,
    PullSource,
    RegistriesConf,
    Registry,
    merge_sources,
    render_registries_conf,
)
from muster.model.schema import Items

DIGEST = "@sha256:" + "a" * 64


def images(sources: tuple[PullSource, ...]) -> list[str]:
    return [source.image for source in sources]


def conf(*registries: Registry) -> RegistriesConf:
    return RegistriesConf(registries)


@pytest.mark.parametrize(
    ("prefix", "image", "mirrored"),
    [
        ("r.example.com/a/b", "r.example.com/a/b", "m.example.com/x"),
        ("r.example.com/a/b", "r.example.com/a/b:4.21", "m.example.com/x:4.21"),
        ("r.example.com/a/b", "r.example.com/a/b" + DIGEST, "m.example.com/x" + DIGEST),
        ("r.example.com/a", "r.example.com/a/b:1" + DIGEST, "m.example.com/x/b:1" + DIGEST),
        ("r.example.com", "r.example.com/a/b:1", "m.example.com/x/a/b:1"),
        ("r.example.com/", "r.example.com/a", "m.example.com/x/a"),
        ("*.example.com", "r.example.com/a/b:1", "m.example.com/x/a/b:1"),
        ("*.example.com", "a.b.example.com:5000/c", "m.example.com/x:5000/c"),
        ("r.example.com/a", "r.example.com/ab", None),
        ("r.example.com/a/b", "r.example.com/a", None),
        ("r.example.com", "r.example.com.test/a", None),
        ("*.example.com", "example.com/a", None),
        ("*.example.com", "r.example.com.test/a", None),
        ("*.example.com", "other.test/r.example.com/a", None),
    ],
)
def test_prefixes_match_whole_parts_of_a_name(prefix: str, image: str, mirrored: str | None) -> None:
    found = conf(Registry(prefix=prefix, location=prefix, mirrors=(Mirror("m.example.com/x"),)))
    assert images(found.find_mirrors(image)) == ([mirrored] if mirrored else [])


def test_the_longest_prefix_decides_and_of_equal_ones_the_first() -> None:
    found = conf(
        Registry("r.example.com", mirrors=(Mirror("m1.example.com"),)),
        Registry("r.example.com/a", mirrors=(Mirror("m2.example.com"),)),
        Registry("r.example.com/a", mirrors=(Mirror("m3.example.com"),)),
        Registry(prefix="*.example.com", mirrors=(Mirror("m4.example.com"),)),
    )
    assert images(found.find_mirrors("r.example.com/a/b")) == ["m2.example.com/b"]
    assert images(found.find_mirrors("r.example.com/c")) == ["m4.example.com/c"]
    assert images(found.find_mirrors("r.example.org/c")) == []


def test_mirrors_are_asked_in_order() -> None:
    mirrors = (Mirror("m1.example.com/x", insecure=True), Mirror("m2.example.com/y/"))
    found = conf(Registry("real.example.com/z", prefix="r.example.com/a", mirrors=mirrors))
    assert found.find_mirrors("r.example.com/a/b:1") == (
        PullSource("m1.example.com/x/b:1", insecure=True),
        PullSource("m2.example.com/y/b:1"),
    )


def test_an_image_without_entry_has_no_mirrors() -> None:
    assert conf().find_mirrors("r.example.com/a:1") == ()
    assert conf().find_registry("r.example.com/a:1") is None


@pytest.mark.parametrize(
    ("digest_only", "which", "tags", "digests"),
    [
        (False, PullFromMirror.ALL, True, True),
        (False, PullFromMirror.DIGEST_ONLY, False, True),
        (False, PullFromMirror.TAG_ONLY, True, False),
        (True, PullFromMirror.ALL, False, True),
    ],
)
def test_mirrors_for_tags_and_digests(
    digest_only: bool, which: PullFromMirror, tags: bool, digests: bool
) -> None:
    mirror = Mirror("m.example.com", pull_from_mirror=which)
    found = conf(Registry("r.example.com", mirror_by_digest_only=digest_only, mirrors=(mirror,)))
    assert bool(found.find_mirrors("r.example.com/a:1")) is tags
    assert bool(found.find_mirrors("r.example.com/a" + DIGEST)) is digests


def test_a_blocked_place_is_never_asked_but_its_mirrors_are() -> None:
    found = conf(
        Registry(
            "r.example.com", blocked=True, mirrors=(Mirror("m.example.com"), Mirror("r.example.com/copies"))
        )
    )
    assert images(found.find_mirrors("r.example.com/a")) == ["m.example.com/a"]


def test_sources_of_the_install_config_become_one_entry_each() -> None:
    found = merge_sources(
        [
            ImageSource(source="r.example.com/a", mirrors=Items(("m1.example.com/a", "m2.example.com/a"))),
            ImageSource(
                source="r.example.com/b",
                mirrors=Items(("m1.example.com/b",)),
                source_policy=SourcePolicy.NEVER_CONTACT_SOURCE,
            ),
            ImageSource(source="r.example.com/a", mirrors=Items(("m2.example.com/a", "m3.example.com/a"))),
            ImageSource(source="r.example.com/c"),
            ImageContentSource(source="r.example.com/d", mirrors=Items(("m1.example.com/d",))),
        ]
    )
    assert [(each.location, each.blocked, each.mirror_by_digest_only) for each in found.registries] == [
        ("r.example.com/a", False, True),
        ("r.example.com/b", True, True),
        ("r.example.com/d", False, True),
    ]
    assert [each.location for each in found.registries[0].mirrors] == [
        "m1.example.com/a",
        "m2.example.com/a",
        "m3.example.com/a",
    ]


def test_the_text_says_no_more_than_it_has_to() -> None:
    sources = [
        ImageSource(
            source="r.example.com/b",
            mirrors=Items(("m1.example.com/b", "m2.example.com/b")),
            source_policy=SourcePolicy.NEVER_CONTACT_SOURCE,
        ),
        ImageSource(source="r.example.com/a", mirrors=Items(("m1.example.com/a",))),
    ]
    assert (
        render_registries_conf(merge_sources(sources))
        == """\
unqualified-search-registries = []

[[registry]]
location = "r.example.com/b"
blocked = true
mirror-by-digest-only = true

  [[registry.mirror]]
  location = "m1.example.com/b"

  [[registry.mirror]]
  location = "m2.example.com/b"

[[registry]]
location = "r.example.com/a"
mirror-by-digest-only = true

  [[registry.mirror]]
  location = "m1.example.com/a"
"""
    )


def test_every_setting_survives_in_the_text() -> None:
    mirror = Mirror("m.example.com", insecure=True, pull_from_mirror=PullFromMirror.TAG_ONLY)
    entry = Registry("r.example.com", prefix="*.example.com", insecure=True, mirrors=(mirror,))
    written = RegistriesConf((entry,), unqualified_search_registries=("r.example.com", 'odd"\x7f\n'))
    assert tomllib.loads(render_registries_conf(written)) == {
        "unqualified-search-registries": ["r.example.com", 'odd"\x7f\n'],
        "registry": [
            {
                "prefix": "*.example.com",
                "location": "r.example.com",
                "insecure": True,
                "mirror": [{"location": "m.example.com", "insecure": True, "pull-from-mirror": "tag-only"}],
            }
        ],
    }


def test_nothing_to_say() -> None:
    assert render_registries_conf(RegistriesConf()) == "unqualified-search-registries = []\n"
