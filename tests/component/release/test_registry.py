# SPDX-License-Identifier: Apache-2.0
"""A store is served by the distribution API: what its conformance tests ask of pulls, and the rules of HTTP.

The specification's own suite is a Go module that the module proxy does not have; its cases are here by hand.
"""

from __future__ import annotations

import contextlib
import json
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from muster.release.oci.digest import digest_of
from muster.release.oci.manifest import OCI_INDEX, OCI_MANIFEST
from tests.component.muster import run
from tests.component.release.served import Served, ask, make_signing_pair, start_registry
from tests.stores import REGISTRY, TOOL, Stored, build_stored, put_program, put_referrer

NOWHERE = "sha256:" + "0" * 64
LARGE = 64 << 20
"""More than the buffers of two sockets hold."""


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    stored = build_stored(tmp_path_factory.mktemp("store"))
    for tag in ("v2", "v3", "v4"):
        stored.store.name({f"{REGISTRY}/team/tool:{tag}": stored.tool.descriptor})
    put_referrer(stored.store, stored.tool, "application/vnd.example.sbom")
    return stored


@pytest.fixture(scope="module")
def served(stored: Stored, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with start_registry(stored.store.root, tmp_path_factory.mktemp("log")) as served:
        yield served


@pytest.fixture
def large(tmp_path: Path) -> Stored:
    return build_stored(tmp_path / "large", LARGE)


def begin(served: Served, path: str) -> socket.socket:
    """Ask for something, and take nothing of it yet."""
    host, port = served.place.split(":")
    client = socket.socket()
    client.settimeout(60)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect((host, int(port)))
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: {served.place}\r\n\r\n".encode())
    assert client.recv(8, socket.MSG_PEEK)
    return client


def drain(client: socket.socket) -> bytes:
    """The body, as far as it comes."""
    pieces = []
    with client, contextlib.suppress(ConnectionResetError):
        while piece := client.recv(1 << 20):
            pieces.append(piece)
    return b"".join(pieces).partition(b"\r\n\r\n")[2]


class TestConformance:
    """The pull and discovery parts, in the order of the specification's suite."""

    def test_ping(self, served: Served) -> None:
        assert served.ask("/v2/").status == 200

    def test_blobs(self, served: Served, stored: Stored) -> None:
        assert served.ask(f"/v2/team/tool/blobs/{NOWHERE}", "HEAD").status == 404
        assert served.ask(f"/v2/team/tool/blobs/{NOWHERE}").status == 404
        for blob in stored.tool.blobs:
            head = served.ask(f"/v2/team/tool/blobs/{blob.digest}", "HEAD")
            assert (head.status, head.body) == (200, b"")
            assert head.headers["content-length"] == str(blob.size_bytes)
            assert head.headers["docker-content-digest"] == blob.digest
            got = served.ask(f"/v2/team/tool/blobs/{blob.digest}")
            assert (got.status, digest_of(got.body)) == (200, blob.digest)
            assert got.headers["docker-content-digest"] == blob.digest

    @pytest.mark.parametrize("method", ["HEAD", "GET"])
    def test_manifests(self, served: Served, stored: Stored, method: str) -> None:
        for wanted in (".INVALID_MANIFEST_NAME", NOWHERE, "v9"):
            assert served.ask(f"/v2/team/tool/manifests/{wanted}", method).status == 404
        for repository, wanted, manifest in (
            ("team/tool", "v1", stored.tool),
            ("team/tool", stored.tool.digest, stored.tool),
            ("team/multi", "v1", stored.multi),
            ("team/multi", stored.inner.digest, stored.inner),
        ):
            got = served.ask(f"/v2/{repository}/manifests/{wanted}", method, Accept=OCI_MANIFEST)
            assert got.status == 200
            assert got.headers["docker-content-digest"] == manifest.digest
            assert got.headers["content-type"] == manifest.media_type
            assert got.headers["content-length"] == str(len(manifest.data))
            assert got.body == (manifest.data if method == "GET" else b"")

    def test_errors_have_the_form_of_the_specification(self, served: Served) -> None:
        got = served.ask("/v2/team/tool/manifests/sha256:totallywrong")
        assert (got.status, got.code) == (400, "DIGEST_INVALID")
        assert served.ask("/v2/team/nothing/manifests/v1").code == "NAME_UNKNOWN"

    def test_tags(self, served: Served) -> None:
        path = "/v2/team/tool/tags/list"
        assert json.loads(served.ask(path).body) == {"name": "team/tool", "tags": ["v1", "v2", "v3", "v4"]}
        assert json.loads(served.ask(f"{path}?n=4").body)["tags"] == ["v1", "v2", "v3", "v4"]
        assert json.loads(served.ask(f"{path}?n=3&last=v2").body)["tags"] == ["v3", "v4"]
        assert json.loads(served.ask(f"{path}?last=v3").body)["tags"] == ["v4"]
        seen, url = [], f"{path}?n=3"
        while url:
            got = served.ask(url)
            seen += json.loads(got.body)["tags"]
            url = got.headers.get("link", "").partition(">")[0].removeprefix("<")
        assert seen == ["v1", "v2", "v3", "v4"]

    def test_referrers(self, served: Served, stored: Stored) -> None:
        path = f"/v2/team/tool/referrers/{stored.tool.digest}"
        got = served.ask(path)
        assert (got.status, got.headers["content-type"]) == (200, OCI_INDEX)
        (found,) = json.loads(got.body)["manifests"]
        assert found["artifactType"] == "application/vnd.example.sbom"
        none = served.ask(f"{path}?artifactType=application/vnd.example.none")
        assert json.loads(none.body)["manifests"] == []
        assert none.headers["oci-filters-applied"] == "artifactType"
        empty = served.ask(f"/v2/team/tool/referrers/{NOWHERE}")
        assert (empty.status, json.loads(empty.body)["manifests"]) == (200, [])

    def test_nothing_is_written(self, served: Served) -> None:
        for method, path in (
            ("POST", "/v2/team/tool/blobs/uploads/"),
            ("PUT", "/v2/team/tool/manifests/v1"),
            ("DELETE", "/v2/team/tool/manifests/v1"),
            ("PATCH", "/v2/team/tool/blobs/uploads/1"),
        ):
            got = served.ask(path, method)
            assert (got.status, got.code) == (405, "UNSUPPORTED")


def test_one_connection_is_enough(served: Served, stored: Stored) -> None:
    """What comes after a blob, a part of one, an error or a head begins where that ended."""
    blob = f"/v2/team/tool/blobs/{stored.layer.digest}"
    data = stored.store.blobs.path(stored.layer.digest).read_bytes()
    with contextlib.closing(served.connect()) as connection:
        for _ in range(3):
            assert ask(connection, blob).body == data
            assert ask(connection, blob, "HEAD").body == b""
            part = ask(connection, blob, Range="bytes=1000-", If_Range=f'"{stored.layer.digest}"')
            assert (part.status, part.body) == (206, data[1000:])
            assert ask(connection, blob, Range=f"bytes={len(data)}-").status == 416
            assert ask(connection, blob, If_None_Match=f'"{stored.layer.digest}"').status == 304
            assert ask(connection, f"/v2/team/tool/blobs/{NOWHERE}").status == 404
            assert ask(connection, "/v2/team/tool/manifests/v1").body == stored.tool.data
    assert len(stored.store.blobs.path(stored.layer.digest).read_bytes()) == len(data)


@pytest.mark.parametrize(
    "path",
    [
        "/v2/../../../etc/passwd",
        "/v2/%2e%2e/%2e%2e/manifests/etc",
        "/v2/team%2Ftool/blobs/..%2f..%2f..%2foci-layout",
        "/v2/team/tool/blobs/sha256:%2e%2e",
        "/v2/team/tool/blobs/sha256:..%00",
        "//v2//",
        "/v2/" + "a" * 4000 + "/manifests/v1",
    ],
)
def test_odd_paths(served: Served, path: str) -> None:
    got = served.ask(path)
    assert got.status in (400, 404)
    assert b"imageLayoutVersion" not in got.body
    assert b"root:" not in got.body


@pytest.mark.parametrize(
    "request_",
    [
        b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 20_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: a\r\n" % number for number in range(300)) + b"\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    ],
    ids=["long header", "long line", "many headers", "TLS"],
)
def test_what_is_too_much_for_a_request(served: Served, request_: bytes) -> None:
    host, port = served.place.split(":")
    with socket.create_connection((host, int(port)), timeout=60) as client:
        client.sendall(request_)
        assert b" 400 " in client.recv(100)
    assert served.ask("/v2/").status == 200


def test_new_images_need_no_restart(tmp_path: Path) -> None:
    stored = build_stored(tmp_path / "store")
    with start_registry(stored.store.root, tmp_path) as served:
        assert served.ask("/v2/team/new/manifests/v1").code == "NAME_UNKNOWN"
        new = put_program(stored.store, "new", 10)
        stored.store.name({f"{REGISTRY}/team/new:v1": new.descriptor})
        assert served.ask("/v2/team/new/manifests/v1").body == new.data
        assert served.ask(f"/v2/team/new/blobs/{new.layers[0].digest}").status == 200
        stored.store.forget([TOOL])
        assert served.ask("/v2/team/tool/manifests/v1").status == 404


def test_only_what_is_signed_is_served(tmp_path: Path) -> None:
    stored = build_stored(tmp_path / "store")
    key, public = make_signing_pair(tmp_path)
    unsigned = run("registry", "serve", stored.store.root, "--public-key", public)
    assert (unsigned.status, unsigned.out) == (1, "")
    assert "is not signed" in unsigned.err
    assert run("store", "sign", stored.store.root, "--key", key).status == 0
    with start_registry(stored.store.root, tmp_path, "--public-key", public) as served:
        assert served.ask("/v2/team/tool/manifests/v1").status == 200
        new = put_program(stored.store, "new", 10)
        stored.store.name({f"{REGISTRY}/team/new:v1": new.descriptor})
        assert served.ask("/v2/team/new/manifests/v1").code == "NAME_UNKNOWN"
        served.wait_for("what was served before is served still")
        assert run("store", "sign", stored.store.root, "--key", key).status == 0
        # Signing changes no index: it is read again because its signature is another.
        assert served.ask("/v2/team/new/manifests/v1").body == new.data


def test_a_damaged_blob_is_named_with_who_needs_it(tmp_path: Path) -> None:
    stored = build_stored(tmp_path / "store")
    path = stored.store.blobs.path(stored.layer.digest)
    with start_registry(stored.store.root, tmp_path) as served:
        path.write_bytes(path.read_bytes()[:-1])
        got = served.ask(f"/v2/team/tool/blobs/{stored.layer.digest}")
        assert (got.status, got.code) == (500, "UNKNOWN")
        path.unlink()
        assert served.ask(f"/v2/team/tool/blobs/{stored.layer.digest}").code == "BLOB_UNKNOWN"
        said = served.wait_for("it is not in the store")
    size = stored.layer.size_bytes
    who = f"{stored.layer.digest} cannot be served"
    assert f"ERROR   {who}: it has {size - 1} bytes, and should have {size}; needed by {TOOL}" in said
    assert f"WARNING {who}: it is not in the store; needed by {TOOL}" in said


def test_a_blob_that_ends_too_early_does_not_look_whole(large: Stored, tmp_path: Path) -> None:
    path = large.store.blobs.path(large.layer.digest)
    with start_registry(large.store.root, tmp_path) as served:
        client = begin(served, f"/v2/team/tool/blobs/{large.layer.digest}")
        with path.open("r+b") as file:
            file.truncate(large.layer.size_bytes - 1)
        assert len(drain(client)) < large.layer.size_bytes
        said = served.wait_for("ends too early")
        assert f"{large.layer.digest} cannot be served: it ends too early; needed by {TOOL}" in said
        assert served.ask("/v2/").status == 200


def test_who_takes_nothing_is_cut_off(large: Stored, tmp_path: Path) -> None:
    with start_registry(large.store.root, tmp_path, "--timeout", "1s") as served:
        client = begin(served, f"/v2/team/tool/blobs/{large.layer.digest}")
        served.wait_for("it took nothing for 1 s")
        assert len(drain(client)) < large.layer.size_bytes


@pytest.mark.parametrize(
    "sent", [b"", b"GET /v2/ HTTP/1.1\r\nHost:", b"GET /v2/ HTTP/1.1\r\nHost: a\r\n\r\n"]
)
def test_who_asks_nothing_is_cut_off(stored: Stored, tmp_path: Path, sent: bytes) -> None:
    with start_registry(stored.store.root, tmp_path, "--timeout", "1s") as served:
        host, port = served.place.split(":")
        with socket.create_connection((host, int(port)), timeout=60) as client:
            client.sendall(sent)
            while client.recv(1000):
                pass


def test_a_client_that_goes_away_harms_nobody(large: Stored, tmp_path: Path) -> None:
    with start_registry(large.store.root, tmp_path) as served:
        for _ in range(5):
            begin(served, f"/v2/team/tool/blobs/{large.layer.digest}").close()
        assert digest_of(served.ask(f"/v2/team/tool/blobs/{large.layer.digest}").body) == large.layer.digest
        served.wait_for("went away")


def test_running_transfers_get_a_moment(large: Stored, tmp_path: Path) -> None:
    with start_registry(large.store.root, tmp_path) as served:
        client = begin(served, f"/v2/team/tool/blobs/{large.layer.digest}")
        served.process.send_signal(signal.SIGTERM)
        served.wait_for("what is being sent gets 5 s")
        with pytest.raises(ConnectionRefusedError):
            served.ask("/v2/")
        assert len(drain(client)) == large.layer.size_bytes
        assert served.process.wait(60) == 0
        assert "cut off" not in served.log.read_text("utf-8")


@pytest.mark.parametrize(
    ("numbers", "said"), [([signal.SIGTERM], "cut off\n"), ([signal.SIGINT] * 2, "cut off, as asked\n")]
)
def test_who_takes_nothing_cannot_keep_it_alive(
    large: Stored, tmp_path: Path, numbers: list[signal.Signals], said: str
) -> None:
    with start_registry(large.store.root, tmp_path) as served:
        client = begin(served, f"/v2/team/tool/blobs/{large.layer.digest}")
        for number in numbers:
            served.process.send_signal(number)
            served.wait_for("who asks again to end need not wait")
        assert served.process.wait(60) == 0
        assert said in served.log.read_text("utf-8")
        assert len(drain(client)) < large.layer.size_bytes


def test_it_says_where_it_listens(stored: Stored, tmp_path: Path) -> None:
    with start_registry(stored.store.root, tmp_path, "--listen", "[::1]:0") as served:
        assert served.url.startswith("http://[::1]:")
        assert served.ask("/v2/").status == 200


def test_bad_input(stored: Stored, served: Served, tmp_path: Path) -> None:
    root, users = stored.store.root, tmp_path / "users"
    users.write_text("ann:password\n")
    port = served.place.partition(":")[2]
    for flags, said in (
        ([tmp_path], "is not a content store"),
        ([root, "--listen", "5000"], "no address to listen at"),
        ([root, "--listen", f"127.0.0.1:{port}"], "address already in use"),
        ([root, "--listen", "nowhere.invalid:5000"], "is no address of this machine"),
        ([root, "--certificate", users], "--certificate and --key belong together"),
        ([root, "--certificate", users, "--key", users], "are no certificate and its key"),
        ([root, "--htpasswd", users], "users:1 is not a user with a bcrypt hash"),
        ([root, "--htpasswd", tmp_path / "nobody"], "cannot read"),
        ([root, "--timeout", "soon"], "is not a time span"),
        ([root, "--timeout", "0s"], "too short"),
    ):
        result = run("registry", "serve", *flags)
        assert (result.status, result.out) == (1, "")
        assert said in result.err
        assert "password" not in result.err.replace("htpasswd", "").replace("no password", "")
