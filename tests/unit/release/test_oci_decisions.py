# SPDX-License-Identifier: Apache-2.0
"""What the client of registries decides without asking one."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from muster.errors import MusterError, UserError
from muster.model.registries import Mirror, PullFromMirror, RegistriesConf, Registry
from muster.release.oci.auth import Access, Challenge, parse_challenges, parse_token
from muster.release.oci.client import next_page
from muster.release.oci.digest import digest_of
from muster.release.oci.download import Wanted, WrongPart, find_start
from muster.release.oci.manifest import OCI_LAYER, Descriptor
from muster.release.oci.patience import Patience, persist
from muster.release.oci.places import find_places, is_insecure, nowhere
from muster.release.oci.proxies import Proxy, find_way, proxy_of
from muster.release.oci.reference import parse_reference
from muster.release.oci.transport import Call, is_same_server, redirected
from muster.release.oci.trouble import Unreachable, refuse_status, wait_of, words_of
from muster.release.oci.upload import Sending, upload_target

DIGEST = digest_of(b"1")
ACCESS = Access("r.example.com", "a/b")
BLOB = Descriptor(OCI_LAYER, DIGEST, 100)


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (['Basic realm="a, b"'], [Challenge("basic", {"realm": "a, b"})]),
        (
            ['Bearer realm="https://t.example.com/token?x=1",service="r",scope="repository:a:pull,push"'],
            [
                Challenge(
                    "bearer",
                    {
                        "realm": "https://t.example.com/token?x=1",
                        "service": "r",
                        "scope": "repository:a:pull,push",
                    },
                )
            ],
        ),
        (
            ['Negotiate, BASIC realm=x , bearer Realm = "a\\"b" , service=r'],
            [
                Challenge("negotiate"),
                Challenge("basic", {"realm": "x"}),
                Challenge("bearer", {"realm": 'a"b', "service": "r"}),
            ],
        ),
        (["Basic", "Bearer realm=x"], [Challenge("basic"), Challenge("bearer", {"realm": "x"})]),
        (["", "=", '"', 'realm="x"'], []),
    ],
)
def test_challenges(texts: list[str], found: list[Challenge]) -> None:
    assert list(parse_challenges(texts)) == found


@pytest.mark.parametrize(
    ("body", "token", "life"),
    [
        ({"token": "a", "access_token": "b", "expires_in": 300}, "a", 300),
        ({"access_token": "b"}, "b", 60),
        ({"token": "a", "expires_in": -5}, "a", 60),
        ({"token": "a", "expires_in": True}, "a", 60),
        ({"token": "a", "expires_in": "300"}, "a", 60),
        ({"token": "a\r\nX-Evil: 1"}, "", 0),
        ({"token": ""}, "", 0),
        ({"token": 7}, "", 0),
        ([], "", 0),
        (None, "", 0),
    ],
)
def test_tokens(body: object, token: str, life: float) -> None:
    assert parse_token(body) == (token, life)


def conf(**more: object) -> RegistriesConf:
    mirrors = (
        Mirror("first.example.com/copy"),
        Mirror("second.example.com/x/y", insecure=True, pull_from_mirror=PullFromMirror.DIGEST_ONLY),
        Mirror("third.example.com", pull_from_mirror=PullFromMirror.TAG_ONLY),
    )
    return RegistriesConf((Registry(**{"location": "r.example.com/ns", "mirrors": mirrors, **more}),))  # type: ignore[arg-type]


def test_mirrors_come_first_and_in_order() -> None:
    by_digest = find_places(conf(), parse_reference(f"r.example.com/ns/a:v1@{DIGEST}"))
    assert list(map(str, by_digest)) == [
        f"first.example.com/copy/a@{DIGEST}",
        f"second.example.com/x/y/a@{DIGEST}",
        f"r.example.com/ns/a@{DIGEST}",
    ]
    by_tag = find_places(conf(), parse_reference("r.example.com/ns/a:v1"))
    assert [place.registry for place in by_tag] == ["first.example.com", "third.example.com", "r.example.com"]
    assert find_places(conf(), parse_reference("r.example.com/nsx/a")) == (
        parse_reference("r.example.com/nsx/a"),
    )
    assert find_places(RegistriesConf(), parse_reference("r.example.com/a"))


def test_a_blocked_registry_is_not_asked() -> None:
    only_mirrors = find_places(conf(blocked=True), parse_reference("r.example.com/ns/a:v1"))
    assert [place.registry for place in only_mirrors] == ["first.example.com", "third.example.com"]
    strict = conf(blocked=True, mirror_by_digest_only=True)
    with pytest.raises(UserError, match="its registry is blocked, and no mirror may be used"):
        find_places(strict, parse_reference("r.example.com/ns/a:v1"))


def test_a_registry_that_has_moved() -> None:
    moved = RegistriesConf((Registry("new.example.com/x", prefix="old.example.com"),))
    assert list(map(str, find_places(moved, parse_reference("old.example.com/a:1")))) == [
        "new.example.com/x/a:1"
    ]
    wild = RegistriesConf((Registry(prefix="*.example.com", insecure=True),))
    assert list(map(str, find_places(wild, parse_reference("r.example.com/a:1")))) == ["r.example.com/a:1"]


@pytest.mark.parametrize(
    ("name", "insecure"),
    [
        ("second.example.com/x/y/a", True),
        ("second.example.com/x/yz", False),
        ("first.example.com/copy/a", False),
        ("r.example.com/ns/a", False),
        ("named.example.com:5000/a", True),
        ("named.example.com/a", False),
    ],
)
def test_who_has_to_prove_nothing(name: str, insecure: bool) -> None:
    named = frozenset({"named.example.com:5000"})
    assert is_insecure(conf(), named, parse_reference(name)) is insecure
    assert is_insecure(conf(insecure=True), (), parse_reference("r.example.com/ns/a"))


def test_all_that_was_said_is_told() -> None:
    wanted = parse_reference("r.example.com/a:1")
    mirror = parse_reference("m.example.com/b:1")
    busy = Unreachable("is busy", hint="wait", passing=True, wait_s=9)
    gone = MusterError("is gone", hint="look")
    both = nowhere(wanted, [(mirror, gone), (wanted, busy)])
    assert both.message == (
        "cannot get r.example.com/a:1 from any of 2 places:"
        "\n  m.example.com/b: is gone\n  r.example.com/a: is busy"
    )
    assert (both.hint, both.passing, both.wait_s) == ("look", True, 9)
    one = nowhere(wanted, [(mirror, gone)])
    assert one.message == "cannot get r.example.com/a:1 (as m.example.com/b): is gone"
    assert not one.passing


@pytest.mark.parametrize(
    ("status", "headers", "at", "skip"),
    [
        (200, {}, 0, 0),
        (200, {"content-length": "100"}, 0, 0),
        (200, {"content-length": "100"}, 30, 30),
        (206, {"content-range": "bytes 30-99/100"}, 30, 0),
        (206, {"content-range": "bytes 30-99/*"}, 30, 0),
        (206, {"content-range": "bytes 30-49/100"}, 30, 0),
        (206, {"content-range": "bytes 0-99/100"}, 0, 0),
    ],
)
def test_where_an_answer_begins(status: int, headers: Mapping[str, str], at: int, skip: int) -> None:
    assert find_start(status, headers, Wanted(ACCESS, BLOB), at) == skip


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (206, {}),
        (206, {"content-range": "bytes 29-99/100"}),
        (206, {"content-range": "bytes 30-100/100"}),
        (206, {"content-range": "30-99/100"}),
        (206, {"content-range": "bytes ³0-99/100"}),
        (206, {"content-range": "bytes */100"}),
        (416, {"content-range": "bytes */100"}),
    ],
)
def test_another_part_is_refused(status: int, headers: Mapping[str, str]) -> None:
    with pytest.raises(WrongPart, match="another part came than that from byte 30 on") as caught:
        find_start(status, headers, Wanted(ACCESS, BLOB), 30)
    assert caught.value.passing, "the whole may still be had"


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (200, {"content-length": "99"}),
        (200, {"content-length": "x"}),
        (206, {"content-range": "bytes 30-98/99"}),
    ],
)
def test_another_size_is_refused(status: int, headers: Mapping[str, str]) -> None:
    with pytest.raises(Unreachable, match="is not what its manifest says: 100 bytes") as caught:
        find_start(status, headers, Wanted(ACCESS, BLOB), 30)
    assert not caught.value.passing


SECRET = {"Authorization": "Basic x", "Range": "bytes=1-"}


@pytest.mark.parametrize(
    ("location", "url", "keeps"),
    [
        ("/other", "https://r.example.com/other", True),
        ("https://r.example.com:443/x", "https://r.example.com/x", True),
        ("https://R.Example.com/x", "https://R.Example.com/x", True),
        ("https://r.example.com:444/x", "https://r.example.com:444/x", False),
        ("https://s.example.com/x?sig=a%2Fb%3D#y", "https://s.example.com/x?sig=a%2Fb%3D", False),
        ("//s.example.com/x", "https://s.example.com/x", False),
    ],
)
def test_a_login_stays_at_home(location: str, url: str, keeps: bool) -> None:
    there = redirected(Call("GET", "https://r.example.com/v2/x", SECRET), location)
    assert there.url == url
    assert is_same_server(url, "https://r.example.com") is keeps
    assert ("Authorization" in there.headers) is keeps
    assert there.headers["Range"] == "bytes=1-"


@pytest.mark.parametrize(
    "location", ["http://r.example.com/", "ftp://r.example.com/", "file:///x", "https://["]
)
def test_where_we_do_not_go(location: str) -> None:
    with pytest.raises(Unreachable, match=r"r\.example\.com redirects"):
        redirected(Call("GET", "https://r.example.com/v2/x", SECRET), location)


def test_where_nobody_proves_anything_tls_may_be_left() -> None:
    call = Call("GET", "https://r.example.com/v2/x", SECRET, insecure=True)
    there = redirected(call, "http://r.example.com/y")
    assert there.url == "http://r.example.com/y"
    assert "Authorization" not in there.headers


@pytest.mark.parametrize(
    ("location", "url"),
    [
        (
            "/v2/a/b/blobs/uploads/1?s=x%3D",
            f"https://r.example.com/v2/a/b/blobs/uploads/1?s=x%3D&digest={DIGEST}",
        ),
        ("https://r.example.com/u", f"https://r.example.com/u?digest={DIGEST}"),
        ("http://r.example.com/u", f"https://r.example.com/u?digest={DIGEST}"),
        ("https://s.example.com/u", f"https://s.example.com/u?digest={DIGEST}"),
    ],
)
def test_where_uploads_go(location: str, url: str) -> None:
    assert upload_target("https://r.example.com/v2/", location, sending()) == url


@pytest.mark.parametrize("location", ["http://s.example.com/u", "file:///u", "https://["])
def test_where_uploads_do_not_go(location: str) -> None:
    with pytest.raises(Unreachable, match="wants it where it cannot be sent to"):
        upload_target("https://r.example.com/v2/", location, sending())


def sending() -> Sending:
    def content() -> object:
        raise AssertionError

    return Sending(ACCESS, BLOB, content)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("link", "following"),
    [
        ('</v2/a/b/tags/list?n=1&last=x>; rel="next"', "a/b/tags/list?n=1&last=x"),
        ("<https://elsewhere.example.com/v2/a/b/tags/list?last=x>;rel=next", "a/b/tags/list?last=x"),
        ("<list?last=x>; rel=next", "a/b/tags/list?last=x"),
        ('<?last=x>; title="y"; rel="next"', "a/b/tags/list?last=x"),
        ('</v2/other/tags/list?last=x>; rel="next"', ""),
        ('</v2/a/b/tags/list?last=x>; rel="prev"', ""),
        ("", ""),
    ],
)
def test_the_next_page(link: str, following: str) -> None:
    assert next_page(link, ACCESS, "a/b/tags/list?n=1") == following


def test_words_of_a_registry() -> None:
    assert words_of(b'{"errors": [{"code": "DENIED", "message": "no\\n\\u001b[31m token: abc"}]}') == (
        "DENIED: no \\x1b[31m token: ••••"
    )
    assert len(words_of(b'{"errors": [{"message": "%s"}]}' % (b"x" * 1000))) == 200
    for body in (b"", b"<html>", b"[]", b'{"errors": []}', b'{"errors": [1]}', b"[" * 100_000):
        assert words_of(body) == ""


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "9999"}, 60),
        ({"retry-after": "soon"}, 0),
        (
            {"retry-after": "Mon, 05 Jan 2026 10:00:20 GMT", "date": "Mon, 05 Jan 2026 10:00:00 GMT"},
            20,
        ),
        ({"retry-after": "Mon, 05 Jan 2026 10:00:00 GMT", "date": "Mon, 05 Jan 2026 10:00:20 GMT"}, 0),
        ({"retry-after": "Mon, 05 Jan 2026 10:00:00 GMT"}, 0),
        ({}, 0),
    ],
)
def test_how_long_to_leave_it_alone(headers: Mapping[str, str], wait: int) -> None:
    assert wait_of(headers) == wait


@pytest.mark.parametrize(
    ("status", "passing"),
    [(400, False), (403, False), (404, False), (405, False), (408, True), (429, True), (502, True)],
)
def test_which_answers_may_pass(status: int, passing: bool) -> None:
    refusal = refuse_status(status, "x", {})
    assert refusal.passing is passing
    assert refusal.hint


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("https://r.example.com/", "http://p.example.com:3128"),
        ("http://r.example.com/", "http://[2001:db8::7]:8080"),
        ("https://direct.example.org/", ""),
    ],
)
def test_ways(url: str, proxy: str) -> None:
    known = proxy_of(
        {
            "HTTPS_PROXY": "http://joe:p%40ss@p.example.com:3128/",
            "http_proxy": "[2001:db8::7]:8080",
            "HTTP_PROXY": "http://unused.example.com",
            "NO_PROXY": ".example.org",
        }
    )
    way = find_way(known, url)
    assert (way.url if way else "") == proxy
    assert "p@ss" not in repr(way)
    assert "p%40ss" not in repr(known)


@pytest.mark.parametrize(
    "text", ["ftp://joe:hunter2@p", "http://joe:hunter2@", "http://joe:hunter2@p:99999999"]
)
def test_a_proxy_that_is_none(text: str) -> None:
    with pytest.raises(UserError, match="the URL of the proxy cannot be used") as caught:
        find_way(Proxy(http=text), "http://r.example.com/")
    assert "hunter2" not in str(caught.value) + caught.value.hint


def test_patience() -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def fail() -> None:
        raise Unreachable("it is busy", hint="wait", passing=True, wait_s=3)

    patience = Patience(tries=4, longest_s=3, sleep=sleep, random=lambda: 0.5)
    with pytest.raises(Unreachable, match="it is busy; gave up after 4 tries") as caught:
        persist(fail, patience).send(None)  # Nothing is waited for, so it needs no event loop.
    assert not caught.value.passing
    assert waits == [3.75, 4.5, 5.25], "twice as long each time, up to a limit, and never at once with others"
