# SPDX-License-Identifier: Apache-2.0
"""Joining the parts of an Ignition config, and merging what users add."""

from __future__ import annotations

import json
from typing import Any

import pytest

from muster.config.formats.ignition import ignition_fault
from muster.errors import UserError
from muster.image.ignition.merge import merge, parse_override
from muster.model.ignition import Config, File, Unit, User, data_url, join, render_tree, tree_of

OURS = tree_of(
    Config(
        (File("/etc/a", b"ours"), File("/etc/b", b"ours", 0o644)),
        (Unit("a.service", "[Unit]\n"),),
        (User("core", ("ssh-ed25519 AAAA",), "$2b$hash"),),
    )
)


def override(**parts: Any) -> dict[str, Any]:
    return parse_override(json.dumps({"ignition": {"version": "3.1.0"}, **parts}), "a test")


def file_at(tree: dict[str, Any], path: str) -> dict[str, Any]:
    found: dict[str, Any] = next(file for file in tree["storage"]["files"] if file["path"] == path)
    return found


@pytest.mark.parametrize(
    "part",
    [
        Config((File("/etc/a", b"other"),)),
        Config(units=(Unit("a.service", ""),)),
        Config(users=(User("core"),)),
        Config((File("/etc/c", b"1"), File("/etc/c", b"2"))),
    ],
)
def test_two_parts_that_claim_the_same_are_refused(part: Config) -> None:
    first = Config((File("/etc/a", b"ours"),), (Unit("a.service", ""),), (User("core"),))
    with pytest.raises(ValueError, match="claim"):
        join([first, part])


def test_joined_parts_are_in_order_of_their_names() -> None:
    parts = [Config((File("/b", b""),)), Config((File("/a", b""),))]
    assert [file.path for file in join(parts).files] == ["/a", "/b"]
    assert render_tree(tree_of(join(parts))) == render_tree(tree_of(join(reversed(parts))))


def test_an_override_wins_and_says_where() -> None:
    more = override(storage={"files": [{"path": "/etc/a", "contents": {"source": "data:,theirs"}}]})
    merged, replaced = merge(OURS, more)
    assert file_at(merged, "/etc/a")["contents"] == {"source": "data:,theirs"}
    assert file_at(merged, "/etc/a")["mode"] == 0o600
    assert file_at(merged, "/etc/b")["contents"] == {"source": data_url(b"ours")}
    assert replaced == ("storage.files[/etc/a].contents.source",)


def test_what_is_new_is_added_and_replaces_nothing() -> None:
    more = override(
        storage={"files": [{"path": "/etc/c"}], "disks": [{"device": "/dev/sda"}]},
        systemd={"units": [{"name": "b.service", "enabled": True}]},
        passwd={"users": [{"name": "core", "sshAuthorizedKeys": ["ssh-rsa BBBB", "ssh-ed25519 AAAA"]}]},
    )
    merged, replaced = merge(OURS, more)
    assert [file["path"] for file in merged["storage"]["files"]] == ["/etc/a", "/etc/b", "/etc/c"]
    assert [unit["name"] for unit in merged["systemd"]["units"]] == ["a.service", "b.service"]
    assert merged["passwd"]["users"][0]["sshAuthorizedKeys"] == ["ssh-ed25519 AAAA", "ssh-rsa BBBB"]
    assert merged["ignition"]["version"] == "3.2.0"
    assert replaced == ()


def test_a_link_takes_the_place_of_a_file() -> None:
    merged, replaced = merge(OURS, override(storage={"links": [{"path": "/etc/a", "target": "/etc/b"}]}))
    assert [file["path"] for file in merged["storage"]["files"]] == ["/etc/b"]
    assert merged["storage"]["links"] == [{"path": "/etc/a", "target": "/etc/b"}]
    assert replaced == ("storage.files[/etc/a]",)


def test_units_are_merged_field_by_field() -> None:
    dropin = {"name": "10-more.conf", "contents": "[Service]\n"}
    merged, replaced = merge(OURS, override(systemd={"units": [{"name": "a.service", "dropins": [dropin]}]}))
    assert merged["systemd"]["units"] == [
        {"name": "a.service", "enabled": True, "contents": "[Unit]\n", "dropins": [dropin]}
    ]
    assert replaced == ()


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({"storage": {"filez": []}}, "storage.filez is not a field of Ignition 3.2; did you mean files?"),
        ({"storage": {"files": [{"path": 1}]}}, "storage.files[0].path is not a text"),
        ({"storage": {"files": {}}}, "storage.files is not a list"),
        ({"storage": {"files": [{"path": "/a", "mode": True}]}}, "storage.files[0].mode is not a number"),
        ({"systemd": []}, "systemd is not an object"),
        (
            {"storage": {"files": [{"path": "/a"}, {"path": "/a"}]}},
            "storage.files has two entries with path /a",
        ),
        ({"passwd": {"users": [{"name": {}}]}}, "passwd.users[0].name is not a text"),
    ],
)
def test_faults_of_an_override(body: dict[str, Any], fault: str) -> None:
    text = json.dumps({"ignition": {"version": "3.2.0"}, **body})
    assert ignition_fault(text) == fault
    with pytest.raises(UserError, match="a test cannot be used"):
        parse_override(text, "a test")


def test_the_spec_allows_what_it_has() -> None:
    body = {
        "ignition": {
            "version": "3.0.0",
            "timeouts": {"httpTotal": 3},
            "config": {"merge": [{"source": "data:,"}]},
        },
        "storage": {
            "luks": [{"name": "root", "device": "/dev/sda4", "clevis": {"tpm2": True}}],
            "links": None,
        },
    }
    assert ignition_fault(json.dumps(body)) == ""
