# SPDX-License-Identifier: Apache-2.0
"""Base images that are here already, and caches in every state."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from muster.errors import ExternalError, MusterError, UserError
from muster.image.base_image import BaseImage, obtain_base_image
from muster.image.cache.store import Cache
from muster.image.download.http import http_fetch
from muster.progress import Advance
from tests.component.image.conftest import ISO, SHA256, Obtain
from tests.component.image.isos import small_iso
from tests.component.image.web import Web
from tests.component.muster import run


class Counting:
    """Counts the bytes of each piece of work."""

    def __init__(self) -> None:
        self.bytes: dict[str, int] = {}

    @contextmanager
    def bar(
        self, label: str, *, total: int | None = None, unit: str = "B", done: int = 0
    ) -> Iterator[Advance]:
        def advance(count: int) -> None:
            self.bytes[label] = self.bytes.get(label, 0) + count

        yield advance


def later() -> datetime:
    """Long enough after a file was made."""
    return datetime.now(UTC) + timedelta(seconds=10)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "base.iso"
    path.write_bytes(ISO)
    return path


def look(source: str | Path, cache: Cache, sha256: str = "") -> tuple[BaseImage, dict[str, int]]:
    counting = Counting()
    found = obtain_base_image(str(source), cache=cache, fetch=http_fetch(), progress=counting, sha256=sha256)
    return found, counting.bytes


def test_a_warm_run_reads_nothing(image: Path, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", clock=later)
    found, read = look(image, cache)
    assert found == BaseImage(image, SHA256, len(ISO), str(image))
    assert read == {"hashing base.iso": len(ISO)}
    link = tmp_path / "link.iso"
    link.symlink_to(image)
    assert look(image, cache)[1] == {}
    assert look(link, cache)[0].path == image
    assert look(f"file://{image}?sha256={SHA256}", cache)[1] == {}
    assert not list(cache.root.glob("images/*")), "it is not copied"


def test_a_changed_file_is_hashed_again(image: Path, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", clock=later)
    look(image, cache)
    old = image.stat()
    image.write_bytes(small_iso(seed=2))
    os.utime(image, ns=(old.st_atime_ns, old.st_mtime_ns))
    found, read = look(image, cache)
    assert found.sha256 != SHA256
    assert read, "a time that was set back does not fool it"


def test_a_file_that_just_changed_is_not_remembered(image: Path, cache: Cache) -> None:
    assert look(image, cache)[1]
    assert look(image, cache)[1], "it could change again within a tick of the file system's clock"


def test_what_is_expected_of_a_local_file(image: Path, cache: Cache) -> None:
    assert look(image, cache, f"sha256:{SHA256.upper()}")[0].sha256 == SHA256
    for source, expected in ((image, "0" * 64), (f"{image}?sha256={'0' * 64}", "")):
        with pytest.raises(UserError, match=f"has the sha256 {SHA256}, expected 0000"):
            look(source, cache, expected)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("", "is empty"),
        ("nowhere.iso", "does not exist"),
        (".", "is a directory"),
        ("/dev/zero", "not a regular file"),
        ("base.iso.xz", "is compressed"),
        ("oci://quay.io/x", "nothing is known of oci://"),
        ("https://:443/x", "names no host"),
        ("https://host:port/x", "is not a URL"),
        ("https://host/a b", "has a space"),
        ("https://host/x?sha256=abc", "64 hexadecimal digits, not 3"),
        ("file://elsewhere/x", "not a file of this machine"),
    ],
)
def test_sources_that_lead_nowhere(cache: Cache, source: str, words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        look(source, cache)
    assert caught.value.hint


def test_two_hashes_that_differ(cache: Cache) -> None:
    with pytest.raises(UserError, match="two different hashes"):
        look(f"https://host/x?sha256={SHA256}", cache, "0" * 64)


@pytest.mark.parametrize("state", ["a file", "read-only", "nowhere"])
def test_a_cache_that_cannot_be_written(
    web: Web, image: Path, tmp_path: Path, state: str, told: pytest.LogCaptureFixture
) -> None:
    root = {"a file": image / "cache", "read-only": Path("/proc/self"), "nowhere": Path("/dev/null/muster")}[
        state
    ]
    for _ in range(2):
        found, read = look(image, Cache(root, clock=later))
        assert found.sha256 == SHA256
        assert read
    assert "is hashed in every run" in told.text
    with pytest.raises(ExternalError, match="there is no cache to download to") as caught:
        look(f"{web.url}/base.iso?sha256={SHA256}", Cache(root))
    assert "--cache-dir" in caught.value.hint
    assert not web.requests


@pytest.mark.parametrize("damage", ["shorter", "changed", "gone", "no record", "bad record"])
def test_a_damaged_entry(
    web: Web, obtain: Obtain, cache: Cache, damage: str, told: pytest.LogCaptureFixture
) -> None:
    source = f"{web.url}/base.iso?sha256={SHA256}"
    path = obtain(source).path
    record = path.with_suffix(".json")
    web.forget()
    match damage:
        case "shorter":
            path.write_bytes(ISO[:-1])
        case "changed":
            path.write_bytes(ISO[:-1] + b"!")
        case "gone":
            path.unlink()
        case "no record":
            record.unlink()
        case _:
            record.write_text('{"sha256": 5')
    assert obtain(source).path.read_bytes() == ISO
    assert len(web.requests) == (0 if "record" in damage else 1)
    assert ("is damaged" in told.text) == (damage in ("shorter", "changed"))
    assert json.loads(record.read_text())["sha256"] == SHA256
    web.forget()
    obtain(source)
    assert not web.requests


def test_what_is_derived_appears_as_a_whole(cache: Cache) -> None:
    path = cache.save_derived(SHA256, "layout.json", [b"a", b"b"])
    assert path == cache.derived(SHA256, "layout.json")
    assert path.read_bytes() == b"ab"

    def failing() -> Iterator[bytes]:
        yield b"half"
        raise ExternalError("no more")

    with pytest.raises(MusterError):
        cache.save_derived(SHA256, "layout.json", failing())
    assert [path.name for path in path.parent.iterdir()] == ["layout.json"]
    assert path.read_bytes() == b"ab"
    with pytest.raises(ValueError, match="not the name"):
        cache.derived(SHA256, "../up")


def test_the_verbs_of_the_cache(web: Web, obtain: Obtain, cache: Cache, waits: list[float]) -> None:
    place = ("--cache-dir", str(cache.root))
    assert run("cache", "path", *place).out == f"{cache.root}\n"
    assert "nothing is kept" in run("cache", "list", *place).out
    assert not cache.root.exists(), "looking leaves no trace"
    path = obtain(f"{web.url}/base.iso?sha256={SHA256}").path
    web.files["/other.iso"], web.ranges, web.cuts = small_iso(seed=2), False, [200_000] * 6
    with pytest.raises(ExternalError):
        obtain(f"{web.url}/other.iso")
    cache.save_derived(SHA256, "layout.json", [b"x" * 100])
    cache.close()
    listed = run("cache", "list", *place).out
    assert f"image    {SHA256[:12]}  584 KiB" in listed
    assert "195 KiB of 584 KiB" in listed
    assert f"{web.url}/other.iso" in listed
    body = json.loads(run("cache", "list", *place, "-o", "json").out)
    assert {item["kind"] for item in body["items"]} == {"image", "partial", "derived"}
    assert body["sizeBytes"] == len(ISO) + 200_000 + 100

    assert "1 image verified" in run("cache", "verify", *place).out
    path.write_bytes(ISO[:-1] + b"!")
    bad = run("cache", "verify", *place)
    assert bad.status == 1
    assert "damaged: removed" in bad.out
    assert not path.exists()


def test_prune(web: Web, obtain: Obtain, cache: Cache) -> None:
    place = ("--cache-dir", str(cache.root))
    path = obtain(f"{web.url}/base.iso?sha256={SHA256}").path
    cache.close()
    assert "nothing to remove" in run("cache", "prune", "--yes", *place).out
    dry = json.loads(run("cache", "prune", "--all", "--dry-run", *place, "-o", "json").out)
    assert (dry["dryRun"], dry["freedBytes"]) == (True, len(ISO))
    refused = run("cache", "prune", "--all", *place, stdin="n\n")
    assert refused.status == 1
    assert "Remove 1 item, 584 KiB?" in refused.err
    assert run("cache", "prune", "--all", *place, stdin="").status == 1
    assert run("cache", "prune", "--all", *place, "-o", "json").status == 1
    assert run("cache", "prune", "--all", "--older-than", "1d", *place).status == 1
    assert "not a time span" in run("cache", "prune", "--older-than", "soon", *place).err
    assert path.exists()
    assert run("cache", "prune", "--older-than", "0s", *place, stdin="y\n").status == 0
    assert not path.exists()
    assert not list(cache.root.glob("urls/*"))


@pytest.mark.parametrize("verb", [("verify",), ("prune", "--all", "--yes"), ("list",)])
def test_a_directory_that_is_no_cache_is_left_alone(tmp_path: Path, verb: tuple[str, ...]) -> None:
    precious = tmp_path / "lib/images/windows.iso"
    precious.parent.mkdir(parents=True)
    precious.write_bytes(ISO)
    done = run("cache", *verb, "--cache-dir", tmp_path / "lib")
    assert done.status == 1
    assert "is not a cache of Muster" in done.err
    assert precious.read_bytes() == ISO
