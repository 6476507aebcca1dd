# SPDX-License-Identifier: Apache-2.0
"""Downloads from servers that behave, and from those that do not."""

from __future__ import annotations

import gzip
import hashlib
import lzma
from pathlib import Path

import pytest

from muster.errors import ExternalError, Interrupted, MediaError
from muster.image.base_image import obtain_base_image
from muster.image.cache.records import PartRecord, save_record
from muster.image.cache.store import Cache
from muster.image.download.http import Timeouts, http_fetch
from muster.progress import SILENT
from tests.component.image.conftest import ISO, SHA256, Obtain
from tests.component.image.isos import small_iso
from tests.component.image.web import Web


def leftovers(cache: Cache) -> list[str]:
    return sorted(path.name for path in cache.root.glob("parts/*"))


def test_a_download_is_verified_and_kept(web: Web, obtain: Obtain, cache: Cache) -> None:
    image = obtain(f"{web.url}/base.iso?sha256={SHA256}")
    assert image.path == cache.root / "images" / f"{SHA256}.iso"
    assert image.path.read_bytes() == ISO
    assert (image.sha256, image.size_bytes) == (SHA256, len(ISO))
    assert web.requests[0][0] == "/base.iso", "the hash is for us, not for the server"
    assert not leftovers(cache)
    web.forget()
    assert obtain(f"{web.url}/base.iso?sha256={SHA256}") == image
    assert not web.requests, "a second run asks nobody"


def test_an_interrupt_keeps_what_has_arrived(
    web: Web, obtain: Obtain, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_args: object) -> None:
        raise Interrupted

    with monkeypatch.context() as patch:
        patch.setattr("muster.image.remote.check_volume", interrupt)
        with pytest.raises(Interrupted):
            obtain(f"{web.url}/base.iso?sha256={SHA256}")
    assert leftovers(cache)
    web.forget()
    assert obtain(f"{web.url}/base.iso?sha256={SHA256}").path.read_bytes() == ISO
    assert not web.requests


def test_other_parameters_are_sent_and_not_shown(
    web: Web, obtain: Obtain, cache: Cache, told: pytest.LogCaptureFixture
) -> None:
    image = obtain(f"{web.url}/base.iso?token=hunter2&sha256={SHA256}&x=1")
    assert web.requests[0][0] == "/base.iso?token=hunter2&x=1"
    assert image.origin == f"{web.url}/base.iso?…"
    kept = "".join(path.read_text() for path in cache.root.rglob("*.json"))
    assert "hunter2" not in kept + told.text


def test_a_login_in_the_url(web: Web, obtain: Obtain, told: pytest.LogCaptureFixture) -> None:
    web.redirects["/moved.iso"] = f"{web.url.replace('127.0.0.1', 'localhost')}/base.iso"
    url = web.url.replace("http://", "http://joe:hunt%20er2@")
    image = obtain(f"{url}/moved.iso?sha256={SHA256}")
    assert web.requests[0][1]["authorization"] == "Basic am9lOmh1bnQgZXIy"
    assert "authorization" not in web.requests[1][1], "it is for one host only"
    assert "joe" not in told.text + image.origin


def test_without_a_hash(web: Web, obtain: Obtain, told: pytest.LogCaptureFixture) -> None:
    image = obtain(f"{web.url}/base.iso")
    assert image.sha256 == SHA256
    assert "cannot be verified" in told.text
    web.forget()
    assert obtain(f"{web.url}/base.iso") == image
    assert web.served_bytes == 0
    assert web.requests[0][1]["if-none-match"] == web.etag
    web.files["/base.iso"], web.etag = small_iso(seed=2), '"two"'
    assert obtain(f"{web.url}/base.iso").sha256 == hashlib.sha256(small_iso(seed=2)).hexdigest()


def test_without_a_hash_and_without_an_answer(
    web: Web, obtain: Obtain, told: pytest.LogCaptureFixture
) -> None:
    image = obtain(f"{web.url}/base.iso")
    web.statuses = [503]
    assert obtain(f"{web.url}/base.iso") == image
    assert "is used" in told.text
    web.statuses = [404]
    with pytest.raises(ExternalError, match="404"):
        obtain(f"{web.url}/base.iso")


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress], ids=["gz", "xz"])
@pytest.mark.parametrize("of", ["packed", "unpacked"])
def test_compressed(
    web: Web, obtain: Obtain, cache: Cache, told: pytest.LogCaptureFixture, pack: object, of: str
) -> None:
    assert callable(pack)
    half = len(ISO) // 2
    packed: bytes = pack(ISO[:half]) + pack(ISO[half:])
    web.files["/base.iso.z"] = packed
    given = hashlib.sha256(packed if of == "packed" else ISO).hexdigest()
    image = obtain(f"{web.url}/base.iso.z?sha256={given}")
    assert image.path.read_bytes() == ISO
    assert image.sha256 == SHA256
    words = {"packed": "of the compressed file", "unpacked": "of what was unpacked"}
    assert words[of] in told.text
    assert not leftovers(cache)
    web.forget()
    assert obtain(f"{web.url}/base.iso.z?sha256={given}") == image
    assert obtain(f"{web.url}/elsewhere?sha256={given}").path == image.path
    assert not web.requests


def test_compressed_and_cut_by_the_publisher(web: Web, obtain: Obtain, cache: Cache) -> None:
    web.files["/base.iso.gz"] = gzip.compress(ISO)[:-1000]
    with pytest.raises(ExternalError, match="cannot be unpacked as gzip: it ends too early"):
        obtain(f"{web.url}/base.iso.gz")
    assert not leftovers(cache)
    web.files["/base.iso.gz"] = gzip.compress(ISO)
    assert obtain(f"{web.url}/base.iso.gz").sha256 == SHA256


def test_a_wrong_hash(web: Web, obtain: Obtain, cache: Cache) -> None:
    wrong = "0" * 64
    with pytest.raises(ExternalError, match=f"has the sha256 {SHA256}, expected {wrong}"):
        obtain(f"{web.url}/base.iso?sha256={wrong}")
    assert not leftovers(cache)
    assert not list(cache.root.glob("images/*"))
    assert len(web.requests) == 1


def test_a_cut_connection_goes_on(web: Web, obtain: Obtain, waits: list[float]) -> None:
    web.cuts = [200_000, 100_000]
    assert obtain(f"{web.url}/base.iso?sha256={SHA256}").path.read_bytes() == ISO
    assert [headers.get("range") for _, headers in web.requests] == [None, "bytes=200000-", "bytes=300000-"]
    assert web.requests[1][1]["if-range"] == web.etag
    assert web.served_bytes == len(ISO)
    assert waits == [1, 1]


def test_a_cut_compressed_download_goes_on(web: Web, obtain: Obtain) -> None:
    packed = lzma.compress(ISO)
    web.files["/base.iso.xz"] = packed
    web.cuts = [3, 100_000]
    assert obtain(f"{web.url}/base.iso.xz?sha256={SHA256}").path.read_bytes() == ISO
    assert web.served_bytes == len(packed)


def test_weak_tags_do_not_resume(web: Web, obtain: Obtain) -> None:
    web.etag = 'W/"one"'
    web.cuts = [200_000]
    obtain(f"{web.url}/base.iso?sha256={SHA256}")
    assert web.requests[1][1]["if-range"] == web.last_modified


def test_a_server_without_ranges(web: Web, obtain: Obtain, told: pytest.LogCaptureFixture) -> None:
    web.ranges = False
    web.cuts = [200_000]
    assert obtain(f"{web.url}/base.iso?sha256={SHA256}").path.read_bytes() == ISO
    assert web.served_bytes == len(ISO) + 200_000
    assert "begins anew" in told.text


@pytest.mark.parametrize("honest", [True, False])
def test_a_file_that_changes_in_between(web: Web, obtain: Obtain, cache: Cache, honest: bool) -> None:
    web.ranges, web.cuts = False, [200_000] * 6
    with pytest.raises(ExternalError, match="ended after 195 KiB of 584 KiB"):
        obtain(f"{web.url}/base.iso")
    assert len(leftovers(cache)) == 2
    other = small_iso(seed=2)
    web.cuts = []
    web.files["/base.iso"], web.etag, web.ranges, web.ignores_if_range = other, '"two"', True, not honest
    assert obtain(f"{web.url}/base.iso").path.read_bytes() == other


def test_bad_bytes_of_an_earlier_run(
    web: Web, obtain: Obtain, cache: Cache, told: pytest.LogCaptureFixture
) -> None:
    web.ranges, web.cuts = False, [200_000] * 6
    with pytest.raises(ExternalError, match="gave up after 5 tries"):
        obtain(f"{web.url}/base.iso?sha256={SHA256}")
    part = next(cache.root.glob("parts/*.part"))
    part.write_bytes(bytes(200_000))
    web.ranges = True
    assert obtain(f"{web.url}/base.iso?sha256={SHA256}").path.read_bytes() == ISO
    assert "what an earlier run left was bad" in told.text


def test_a_wrong_hash_after_a_new_beginning(web: Web, obtain: Obtain, cache: Cache) -> None:
    """All bytes are of this run, so there is nothing to try again without."""
    part = cache.places.part(f"{web.url}/base.iso")
    part.parent.mkdir(parents=True)
    part.write_bytes(ISO[:1000])
    save_record(part.with_suffix(".json"), PartRecord("x", '"old"', "", len(ISO)))
    with pytest.raises(ExternalError, match="has the sha256"):
        obtain(f"{web.url}/base.iso?sha256={'0' * 64}")
    assert len(web.requests) == 1
    assert web.requests[0][1]["range"] == "bytes=1000-"


def test_a_complete_part_is_used_only_with_a_hash(web: Web, obtain: Obtain, cache: Cache) -> None:
    """A crash between the last byte and the rename; the file may have changed since."""
    other = small_iso(seed=2)
    for query, requests in (("", 1), (f"?sha256={hashlib.sha256(other).hexdigest()}", 0)):
        part = cache.places.part(f"{web.url}/base.iso")
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(other)
        save_record(part.with_suffix(".json"), PartRecord("x", '"old"', "", len(other)))
        web.forget()
        obtain(f"{web.url}/base.iso{query}")
        assert len(web.requests) == requests
        assert web.served_bytes == requests * len(ISO)


def test_a_server_with_a_problem(web: Web, obtain: Obtain, waits: list[float]) -> None:
    web.statuses, web.headers = [503, 500], {"Retry-After": "7"}
    assert obtain(f"{web.url}/base.iso?sha256={SHA256}").sha256 == SHA256
    assert waits == [7, 7]
    web.statuses = [502] * 10
    with pytest.raises(ExternalError, match=r"answered 502; gave up after 5 tries"):
        obtain(f"{web.url}/other.iso?sha256={'1' * 64}")
    assert len(web.statuses) == 5


@pytest.mark.parametrize(
    ("status", "words"), [(404, "is not there"), (401, "not allowed"), (403, "not allowed")]
)
def test_answers_that_are_final(web: Web, obtain: Obtain, status: int, words: str) -> None:
    web.statuses = [status]
    with pytest.raises(ExternalError, match=words) as caught:
        obtain(f"{web.url}/base.iso?sha256={SHA256}")
    assert caught.value.hint
    assert len(web.requests) == 1


def test_redirects(web: Web, obtain: Obtain) -> None:
    web.redirects = {
        "/a": "/b",
        "/b": f"{web.url}/base.iso",
        "/x": "/y",
        "/y": "/x",
        "/f": "file:///etc/passwd",
    }
    assert obtain(f"{web.url}/a?sha256={SHA256}").sha256 == SHA256
    with pytest.raises(ExternalError, match="redirects in circles"):
        obtain(f"{web.url}/x")
    with pytest.raises(ExternalError, match="redirects"):
        obtain(f"{web.url}/f")


def test_a_server_that_goes_silent(web: Web, cache: Cache, waits: list[float]) -> None:
    web.cuts, web.silence_s = [100_000], 3
    fetch = http_fetch(timeouts=Timeouts(connect_s=5, read_s=0.3))
    image = obtain_base_image(
        f"{web.url}/base.iso?sha256={SHA256}", cache=cache, fetch=fetch, progress=SILENT
    )
    assert image.sha256 == SHA256
    assert len(web.requests) == 2
    assert web.requests[1][1]["range"] == "bytes=100000-"


def test_nobody_listens(obtain: Obtain, waits: list[float]) -> None:
    with pytest.raises(ExternalError, match=r"cannot reach 127.0.0.1:1: connection refused; gave up after 5"):
        obtain("http://127.0.0.1:1/base.iso?sha256=" + SHA256)
    assert waits == [1, 2, 4, 8]


def test_a_length_that_nobody_says(web: Web, obtain: Obtain) -> None:
    web.announces_length = False
    assert obtain(f"{web.url}/base.iso").sha256 == SHA256
    web.files["/base.iso"], web.etag = ISO[:-4096], '"two"'
    with pytest.raises(MediaError, match="is incomplete: it has 593920 bytes"):
        obtain(f"{web.url}/base.iso")


def test_a_page_instead_of_an_image(web: Web, obtain: Obtain, cache: Cache) -> None:
    web.files["/base.iso"] = b"<!DOCTYPE html><p>Please log in" + b" " * 50_000
    with pytest.raises(MediaError, match="is not an ISO 9660 image; it begins with b'<!DOCTYPE html>"):
        obtain(f"{web.url}/base.iso")
    assert not list(cache.root.glob("images/*"))
    assert not leftovers(cache)


def test_no_room(web: Web, tmp_path: Path, waits: list[float]) -> None:
    cache = Cache(tmp_path / "cache", free_bytes=lambda _: 500_000)
    with pytest.raises(ExternalError, match=r"584 KiB are needed in .*, and 488 KiB are free") as caught:
        obtain_base_image(f"{web.url}/base.iso", cache=cache, fetch=http_fetch(), progress=SILENT)
    assert "prune" in caught.value.hint
    assert [path.stat().st_size for path in cache.root.glob("parts/*.part")] == [0]
