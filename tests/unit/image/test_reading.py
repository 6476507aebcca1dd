# SPDX-License-Identifier: Apache-2.0
"""Media of others are read, or refused: what is on them is not believed."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from muster.cli.media import media as command
from muster.errors import MediaError
from muster.image.audit import audit_within
from muster.image.copy import write_image
from muster.image.coreos.customize import Customization, customize
from muster.image.cpio import Member, render_archive
from muster.image.ignition.label import PATH as LABEL_FILE
from muster.image.ignition.unconfigured import CONFIG_LABEL
from muster.image.iso.volume import Volume
from muster.image.iso.writer import render_iso
from muster.image.reading import decode_data_url, read_medium
from tests import media
from tests.seeds import NOW


def live_medium(tmp_path: Path, tree: dict[str, Any]) -> Path:
    base, target = tmp_path / "base.iso", tmp_path / "medium.iso"
    base.write_bytes(media.image(media.MODERN))
    with Volume.open(base) as volume:
        write_image(base, customize(volume, Customization(ignition=json.dumps(tree).encode())), target)
    return target


def config_medium(tmp_path: Path, packed: bytes) -> Path:
    path = tmp_path / "config.iso"
    path.write_bytes(render_iso({"config.gz": packed}, label=CONFIG_LABEL, when=NOW))
    return path


def file(path: Any, text: str) -> dict[str, Any]:
    encoded = base64.b64encode(text.encode()).decode()
    return {"storage": {"files": [{"path": path, "contents": {"source": f"data:;base64,{encoded}"}}]}}


FOREIGN = {
    "keys that are a number": {"passwd": {"users": [{"name": "core", "sshAuthorizedKeys": 5}]}},
    "names that are not text": {
        "passwd": {"users": [{"name": [1], "passwordHash": 5}]},
        "systemd": {"units": [{"name": {"a": 1}, "contents": [1]}]},
    },
    "hosts that are numbers": file(LABEL_FILE, '{"hosts": [1, 2], "cluster": [[1]]}'),
    "hosts that are a number": file(LABEL_FILE, '{"hosts": 5}'),
    "a label that is deep": file(LABEL_FILE, '{"hosts": ' + "[" * 900 + "]" * 900 + "}"),
    "a label without an end": file(LABEL_FILE, "[" * 100_000),
    "a path that is half a character": file("/etc/\ud800", "text"),
    "a URL with half a character": {
        "storage": {"files": [{"path": "/a", "contents": {"source": "https://x/\ud800"}}]}
    },
    "data with half a character": {
        "storage": {"files": [{"path": "/a", "contents": {"source": "data:,\ud800"}}]}
    },
    "a unit with half a character": {"systemd": {"units": [{"name": "a\udcff", "contents": "\ud800: 1"}]}},
    "a tag that is wrong": file("/etc/a.yaml", "a: !!bool maybe"),
}


@pytest.mark.parametrize("tree", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("output", ["text", "json"])
def test_foreign_media_are_shown(tmp_path: Path, tree: dict[str, Any], output: str) -> None:
    path = live_medium(tmp_path, {"ignition": {"version": "3.4.0"}, **tree})
    for verb in ("inspect", "audit"):
        done = CliRunner().invoke(command, [verb, str(path), "--output", output], catch_exceptions=False)
        assert done.exit_code == 0
        assert output == "text" or json.loads(done.output)


def test_a_path_that_is_half_a_character_stays_what_it_is(tmp_path: Path) -> None:
    path = live_medium(tmp_path, {"ignition": {"version": "3.4.0"}, **file("/etc/\ud800ü", "text")})
    done = CliRunner().invoke(command, ["inspect", str(path), "--output", "json"])
    assert json.loads(done.output)["files"][0]["path"] == "/etc/\ud800ü"
    assert "ü" in done.output


def test_configs_that_are_files_are_looked_into(tmp_path: Path) -> None:
    """The medium of a lost host has its configuration, and that has those of the others."""
    user = {"passwd": {"users": [{"name": "core", "passwordHash": "$6$x"}]}}
    other = {"ignition": {"version": "3.4.0"}, **file("/etc/key", "theirs"), **user}
    own = {"ignition": {"version": "3.4.0"}, **file("/etc/kept/b.ign", json.dumps(other))}
    tree = {"ignition": {"version": "3.4.0"}, **file("/etc/a.ign", json.dumps(own))}
    texts = read_medium(live_medium(tmp_path, tree)).texts()
    assert texts["/etc/a.ign: /etc/kept/b.ign: /etc/key"] == "theirs"
    assert texts["/etc/a.ign: /etc/kept/b.ign: passwd.users[core]"] == "$6$x"
    wrong = live_medium(tmp_path, {"ignition": {"version": "3.4.0"}, **file("/etc/a.ign", "no config")})
    assert read_medium(wrong).texts()["/etc/a.ign"] == "no config"


def test_a_configuration_is_unpacked(tmp_path: Path) -> None:
    packed = gzip.compress(render_archive([Member("etc/a", b"text")]))
    assert [each.path for each in read_medium(config_medium(tmp_path, packed)).files] == ["/etc/a"]


@pytest.mark.parametrize(
    ("packed", "said"),
    [
        (gzip.compress(bytes(65 << 20)), "unpacks to more than"),
        (gzip.compress(gzip.compress(bytes(65 << 20))), "unpacks to more than"),
        (gzip.compress(b"text", mtime=0)[:-9], "config.gz of"),
        (b"text that is not packed", "cannot be unpacked"),
        (b"", "config.gz of"),
    ],
)
def test_a_configuration_that_cannot_be_unpacked(tmp_path: Path, packed: bytes, said: str) -> None:
    with pytest.raises(MediaError, match=said) as caught:
        read_medium(config_medium(tmp_path, packed))
    assert caught.value.hint == "make the configuration ISO again"


def test_many_packed_files_are_not_larger_than_one_may_be(tmp_path: Path) -> None:
    data = base64.b64encode(gzip.compress(bytes(63 << 20))).decode()
    source = {"source": f"data:;base64,{data}", "compression": "gzip"}
    files = [{"path": f"/{number}", "contents": source} for number in range(5)]
    with pytest.raises(MediaError, match="unpack to more than"):
        read_medium(live_medium(tmp_path, {"ignition": {"version": "3.4.0"}, "storage": {"files": files}}))


def packed(data: bytes) -> dict[str, str]:
    return {"source": f"data:;base64,{base64.b64encode(gzip.compress(data)).decode()}", "compression": "gzip"}


def carried(levels: int, size: int) -> dict[str, Any]:
    """A config that carries another one twice, and so on; the innermost has a large file."""
    tree: dict[str, Any] = {
        "ignition": {"version": "3.4.0"},
        "storage": {"files": [{"path": "/large", "contents": packed(b"a: 1\n" * (size // 5))}]},
    }
    for _ in range(levels):
        inner = packed(json.dumps(tree).encode())
        tree = {"ignition": {"version": "3.4.0", "config": {"merge": [inner, inner]}}}
        tree["storage"] = {"files": [{"path": "/etc/x.ign", "contents": inner}]}
    return tree


@pytest.mark.parametrize("levels", [7, 12])
def test_configs_inside_of_configs_are_read_within_bounds(tmp_path: Path, levels: int) -> None:
    """A kilobyte of configs that carry each other once kept an audit busy for 20 seconds."""
    reading = read_medium(live_medium(tmp_path, carried(levels, 3 << 20)))
    texts = reading.texts()
    assert sum(map(len, texts.values())) < 256 << 20
    assert len(texts) < 1000
    assert reading.budget.unread == "it has more than 100 configs inside of configs"


def test_what_was_not_searched_is_said(tmp_path: Path) -> None:
    path = live_medium(tmp_path, carried(7, 1 << 10))
    done = CliRunner().invoke(command, ["audit", str(path)], catch_exceptions=False)
    assert "not searched: it has more than 100 configs" in done.output
    found = CliRunner().invoke(command, ["audit", str(path), "--output", "json"], catch_exceptions=False)
    assert json.loads(found.output)["notSearched"][0].startswith("it has more than 100 configs")


def test_a_search_ends_in_time_and_long_texts_are_searched_in_part() -> None:
    key = "password: hunter22"
    texts = {"a": key, "b": "x" * (5 << 20) + f"\n{key}", "c": key}
    secrets, unread = audit_within(texts, lambda: False)
    assert [each.place for each in secrets] == ["a", "c"]
    assert unread == ("b: only its first 4 Mi characters were searched",)
    ticks = iter([False, False, False, False, True])
    secrets, unread = audit_within({"a": "a: 1", "b": key, "c": key}, lambda: next(ticks, True))
    assert secrets == ()
    assert unread == ("b: there was no time left", "c: there was no time left")


@pytest.mark.parametrize("source", ["https://x/\ud800", "data:,\ud800", "data:;base64,\ud800"])
def test_urls_with_half_a_character(source: str) -> None:
    assert decode_data_url(source) == source.encode("utf-8", "replace")
