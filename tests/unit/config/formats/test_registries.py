# SPDX-License-Identifier: Apache-2.0
"""registries.conf: read as it is written, with every mistake at its place."""

from __future__ import annotations

import pytest

from muster.config.formats.registries import parse_registries
from muster.model.registries import Mirror, PullFromMirror, RegistriesConf, Registry, render_registries_conf
from muster.model.tree import Source

CONF = RegistriesConf(
    (
        Registry(
            location="quay.io/a",
            blocked=True,
            mirror_by_digest_only=True,
            mirrors=(Mirror("m.example.com/a"),),
        ),
        Registry(prefix="*.example.com", mirrors=(Mirror("m.example.com/b", True, PullFromMirror.TAG_ONLY),)),
    ),
    ("r.example.com",),
)


def test_what_is_written_is_read() -> None:
    found, problems = parse_registries(Source("registries.conf", render_registries_conf(CONF)))
    assert problems == []
    assert found == CONF


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = ", ["toml-syntax 1:3"]),
        ('[[registry]]\nlocation = "a.example.com"\nblocked = 1', ["bad-registries-value 3:11"]),
        ('[[registry]]\nlocaton = "a.example.com"', ["unknown-registries-key 2:1"]),
        ('[[registry]]\nprefix = "a.example.com"', ["registry-without-location 1:3"]),
        ('[[registry]]\nlocation = "http://a.example.com"', ["bad-repository 2:12"]),
        (
            'registry = [{location = "a.example.com", mirror = [{insecure = true}]}]',
            ["registry-without-location 1:1"],
        ),
        ("registry = [1]", ["bad-registries-value 1:12"]),
        ('[registries.search]\nregistries = ["a.example.com"]', ["unknown-registries-key 1:1"]),
        (
            '[[registry]]\nlocation = "a.example.com"\nmirror-by-digest-only = true\n[[registry.mirror]]\n'
            'location = "b.example.com"\npull-from-mirror = "all"',
            ["bad-registries-value 6:20"],
        ),
    ],
)
def test_mistakes(text: str, expected: list[str]) -> None:
    _, problems = parse_registries(Source("registries.conf", text))
    found = [f"{each.rule.slug} {each.place.position[0]}:{each.place.position[1]}" for each in problems]
    assert found == expected
