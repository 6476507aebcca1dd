# SPDX-License-Identifier: Apache-2.0
"""Whether images can be had: what is replied, and what a host reads of its own settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from muster.agent.steps.container_image_availability import Look, explain, summarize
from muster.agent.steps.pull_settings import AUTHORITIES, LOGINS, REGISTRIES, load_settings
from muster.errors import MusterError

PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


def save(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_all_can_be_had() -> None:
    outcome = summarize([Look("r.example.com/a:1", 2000, 0.5, 12.5)])
    assert (outcome.exit_code, outcome.error) == (0, "")
    assert json.loads(outcome.output) == {
        "images": [
            {
                "name": "r.example.com/a:1",
                "size_bytes": 2000.0,
                "time": 0.5,
                "download_rate": 12.5,
                "result": "success",
            }
        ]
    }


def test_some_cannot_be_had() -> None:
    looks = [Look("a", reason="a is gone"), Look("b", 1, 1, 1), Look("c", reason="c is down")]
    outcome = summarize(looks)
    assert (outcome.exit_code, outcome.error) == (2, "a is gone\nc is down")
    images = json.loads(outcome.output)["images"]
    assert [(each["name"], each["result"]) for each in images] == [
        ("a", "failure"),
        ("b", "success"),
        ("c", "failure"),
    ]
    assert "download_rate" not in images[0]


def test_a_reason_is_one_line_that_names_the_image() -> None:
    said = "cannot get r/a from any of 2 places:\n  m/a: it is down\n  r/a: no login"
    assert explain("r/a", said) == "cannot get r/a from any of 2 places: m/a: it is down; r/a: no login"
    assert explain("r/b", "the name r cannot be resolved") == "r/b: the name r cannot be resolved"


def test_a_reason_has_no_secrets_and_no_control_characters() -> None:
    said = explain("r/a", "r/a: cannot reach https://joe:hunter2@r.example.com \x1b[2J")
    assert "hunter2" not in said
    assert "\x1b" not in said


def test_a_host_without_settings(tmp_path: Path) -> None:
    settings = load_settings(tmp_path)
    assert not settings.registries.registries
    assert not settings.logins.by_scope
    assert settings.authorities == ()


def test_settings(tmp_path: Path) -> None:
    save(
        tmp_path / REGISTRIES,
        '[[registry]]\nlocation = "quay.io/a"\n[[registry.mirror]]\nlocation = "m.example.com/a"\n',
    )
    save(tmp_path / LOGINS, '{"auths": {"m.example.com": {"auth": "am9lOmh1bnRlcjI="}}}')
    save(tmp_path / AUTHORITIES / "b.crt", PEM)
    save(tmp_path / AUTHORITIES / "README", "nothing")
    settings = load_settings(tmp_path)
    (mirror,) = settings.registries.find_mirrors("quay.io/a/b:1")
    assert mirror.image == "m.example.com/a/b:1"
    login = settings.logins.find("m.example.com/a/b")
    assert login is not None
    assert (login.user, login.password) == ("joe", "hunter2")
    assert settings.authorities == (PEM,)


def test_an_empty_file_of_logins_has_none(tmp_path: Path) -> None:
    save(tmp_path / LOGINS, "\n")
    assert not load_settings(tmp_path).logins.by_scope


@pytest.mark.parametrize(("name", "words"), [(REGISTRIES, "cannot be used"), (LOGINS, "cannot be read")])
def test_settings_that_cannot_be_read(tmp_path: Path, name: str, words: str) -> None:
    save(tmp_path / name, "hunter2 = [")
    with pytest.raises(MusterError, match=words) as caught:
        load_settings(tmp_path)
    assert "hunter2" not in caught.value.message
