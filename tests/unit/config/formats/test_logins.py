# SPDX-License-Identifier: Apache-2.0
"""Pull secrets: faults are found, and nothing of the secret is in their words."""

from __future__ import annotations

import pytest

from muster.config.formats.logins import find_faults, has_login, registries_of

LOGIN = "aHVudGVyOjI="


@pytest.mark.parametrize(
    "text",
    [
        f'{{"auths": {{"r.example.com": {{"auth": "{LOGIN}"}}}}}}',
        f'{{"auths": {{"r.example.com:5000/ns": {{"auth": "{LOGIN}", "email": ""}}}}}}',
        f'{{"auths": {{"https://index.example.com/v1/": {{"auth": "{LOGIN}"}}}}}}',
        '{"auths": {"r.example.com": {"credsStore": "desktop"}}}',
    ],
)
def test_good_secrets(text: str) -> None:
    assert list(find_faults(text)) == []


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("", "pull-secret-not-json"),
        ("hunter2", "pull-secret-not-json"),
        ('"hunter2"', "pull-secret-not-json"),
        ('["hunter2"]', "pull-secret-not-json"),
        ("[" * 100_000, "pull-secret-not-json"),
        ('{"hunter2": 1}', "pull-secret-no-auths"),
        ('{"auths": "hunter2"}', "pull-secret-no-auths"),
        ('{"auths": {"r.example.com": "hunter2"}}', "pull-secret-no-login"),
        ('{"auths": {"r.example.com": {"auth": "hunter2"}}}', "pull-secret-bad-login"),
        ('{"auths": {"r.example.com": {"auth": ["hunter2"]}}}', "pull-secret-bad-login"),
        (f'{{"auths": {{"": {{"auth": "{LOGIN}"}}}}}}', "pull-secret-registry"),
        (f'{{"auths": {{"me:hunter2@r example": {{"auth": "{LOGIN}"}}}}}}', "pull-secret-registry"),
    ],
)
def test_bad_secrets(text: str, slug: str) -> None:
    (fault,) = find_faults(text)
    assert fault.slug == slug
    assert "hunter2" not in "".join(fault.values.values())


def test_logins_hold_for_what_is_below() -> None:
    known = registries_of('{"auths": {"r.example.com/ns": {}, "https://s.example.com/v1/": {}}}')
    assert known is not None
    assert has_login(known, "r.example.com/ns/a")
    assert has_login(known, "s.example.com/a")
    assert not has_login(known, "r.example.com/other")
    assert registries_of("{") is None
