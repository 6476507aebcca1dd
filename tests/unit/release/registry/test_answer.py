# SPDX-License-Identifier: Apache-2.0
"""What is answered, by the rules of the distribution specification."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from muster.release.oci.digest import digest_of
from muster.release.oci.manifest import OCI_INDEX, OCI_MANIFEST
from muster.release.registry.answer import answer
from muster.release.registry.asked import Asked
from muster.release.registry.reply import Reply
from muster.release.registry.shelf import Shelf
from muster.serving.ranges import Span
from tests.stores import REGISTRY, Stored, build_stored, put_program, put_referrer

NOWHERE = "sha256:" + "0" * 64


@pytest.fixture
def stored(tmp_path: Path) -> Stored:
    return build_stored(tmp_path)


def ask(stored: Stored, path: str, method: str = "GET", **headers: str) -> Reply:
    path, _, query = path.partition("?")
    pairs = dict(pair.split("=", 1) for pair in query.split("&")) if query else {}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    shelf = Shelf(stored.store, stored.store.contents())
    return answer(Asked(method, path, pairs, named), shelf)


def code(reply: Reply) -> str:
    return str(json.loads(reply.body)["errors"][0]["code"])


def body(reply: Reply) -> Any:
    assert reply.status == 200
    return json.loads(reply.body)


def test_the_api_is_there(stored: Stored) -> None:
    reply = ask(stored, "/v2/")
    assert reply.status == 200
    assert ("Docker-Distribution-Api-Version", "registry/2.0") in reply.headers


@pytest.mark.parametrize("name", ["team/tool", f"{REGISTRY}/team/tool"])
def test_a_manifest_by_tag(stored: Stored, name: str) -> None:
    reply = ask(stored, f"/v2/{name}/manifests/v1")
    assert reply.status == 200
    assert reply.body == stored.tool.data
    headers = dict(reply.headers)
    assert headers["Docker-Content-Digest"] == stored.tool.digest
    assert headers["Content-Type"] == OCI_MANIFEST
    assert headers["ETag"] == f'"{stored.tool.digest}"'
    assert headers["Cache-Control"] == "no-cache"


def test_manifests_by_digest_also_those_within_an_index(stored: Stored) -> None:
    reply = ask(stored, f"/v2/team/multi/manifests/{stored.multi.digest}")
    assert dict(reply.headers)["Content-Type"] == OCI_INDEX
    assert "immutable" in dict(reply.headers)["Cache-Control"]
    assert ask(stored, f"/v2/team/multi/manifests/{stored.inner.digest}").body == stored.inner.data


def test_a_manifest_that_the_client_has(stored: Stored) -> None:
    reply = ask(stored, "/v2/team/tool/manifests/v1", if_none_match=f'"{stored.tool.digest}"')
    assert (reply.status, reply.body) == (304, b"")


def test_blobs_are_served_under_every_repository(stored: Stored) -> None:
    for name in ("team/tool", "team/multi"):
        reply = ask(stored, f"/v2/{name}/blobs/{stored.layer.digest}")
        assert reply.status == 200
        assert reply.span == Span(0, stored.layer.size_bytes)
        assert reply.digest == stored.layer.digest
    assert ask(stored, f"/v2/team/tool/blobs/{stored.inner.layers[0].digest}").status == 200
    assert ask(stored, f"/v2/team/tool/blobs/{stored.tool.digest}").status == 200


def test_some_of_a_blob(stored: Stored) -> None:
    path, etag = f"/v2/team/tool/blobs/{stored.layer.digest}", f'"{stored.layer.digest}"'
    size = stored.layer.size_bytes
    reply = ask(stored, path, range="bytes=10-19", if_range=etag)
    assert (reply.status, reply.span) == (206, Span(10, 10))
    assert dict(reply.headers)["Content-Range"] == f"bytes 10-19/{size}"
    assert ask(stored, path, range="bytes=10-19", if_range='"other"').status == 200
    assert ask(stored, path, range="bytes=10-19", if_range="Mon, 05 Jan 2026 10:00:00 GMT").status == 200
    assert ask(stored, path, "HEAD", range="bytes=10-19").status == 200
    beyond = ask(stored, path, range=f"bytes={size}-")
    assert beyond.status == 416
    assert dict(beyond.headers)["Content-Range"] == f"bytes */{size}"
    assert ask(stored, path, range="bytes=10-19", if_none_match=etag).status == 304


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/v2/no/such/manifests/v1", 404, "NAME_UNKNOWN"),
        ("/v2/no/such/tags/list", 404, "NAME_UNKNOWN"),
        ("/v2/no/such/referrers/" + NOWHERE, 404, "NAME_UNKNOWN"),
        ("/v2/team/tool/manifests/v9", 404, "MANIFEST_UNKNOWN"),
        ("/v2/team/tool/manifests/.odd", 404, "MANIFEST_UNKNOWN"),
        ("/v2/team/tool/manifests/" + NOWHERE, 404, "MANIFEST_UNKNOWN"),
        ("/v2/team/tool/manifests/sha512:" + "0" * 128, 404, "MANIFEST_UNKNOWN"),
        ("/v2/team/tool/manifests/sha256:totallywrong", 400, "DIGEST_INVALID"),
        ("/v2/team/tool/blobs/" + NOWHERE, 404, "BLOB_UNKNOWN"),
        ("/v2/team/tool/blobs/v1", 400, "DIGEST_INVALID"),
        ("/v2/team/tool/blobs/sha256:../../../../oci-layout", 404, "NAME_UNKNOWN"),
        ("/v2/team/tool/blobs/sha256:..", 400, "DIGEST_INVALID"),
        ("/v2/team/tool/referrers/v1", 400, "DIGEST_INVALID"),
        ("/v2/../../etc/manifests/passwd", 400, "NAME_INVALID"),
        ("/v2/team/tool/tags/list?n=-1", 400, "UNSUPPORTED"),
        ("/v2/team/tool/tags/list?n=x", 400, "UNSUPPORTED"),
        ("/etc/passwd", 404, "NAME_UNKNOWN"),
    ],
)
def test_what_is_refused(stored: Stored, path: str, status: int, said: str) -> None:
    reply = ask(stored, path)
    assert (reply.status, code(reply)) == (status, said)
    assert reply.trouble is None


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_nothing_is_written(stored: Stored, method: str) -> None:
    reply = ask(stored, "/v2/team/tool/blobs/uploads/", method)
    assert (reply.status, code(reply)) == (405, "UNSUPPORTED")
    assert ("Allow", "GET, HEAD") in reply.headers


def test_a_blob_is_no_manifest(stored: Stored) -> None:
    reply = ask(stored, f"/v2/team/tool/manifests/{stored.layer.digest}")
    assert (reply.status, code(reply)) == (404, "MANIFEST_UNKNOWN")


def test_what_no_name_leads_to_is_not_served(stored: Stored) -> None:
    nobody = stored.store.blobs.put(b"left over")
    assert ask(stored, f"/v2/team/tool/blobs/{nobody}").status == 404


def test_tags_come_in_pages(stored: Stored) -> None:
    for tag in ("v10", "v2", "Alpha"):
        stored.store.name({f"{REGISTRY}/team/tool:{tag}": stored.tool.descriptor})
    path = "/v2/team/tool/tags/list"
    assert body(ask(stored, path)) == {"name": "team/tool", "tags": ["Alpha", "v1", "v10", "v2"]}
    first = ask(stored, f"{path}?n=2")
    assert body(first)["tags"] == ["Alpha", "v1"]
    assert dict(first.headers)["Link"] == f'<{path}?n=2&last=v1>; rel="next"'
    second = ask(stored, f"{path}?n=2&last=v1")
    assert body(second)["tags"] == ["v10", "v2"]
    assert "Link" not in dict(second.headers)
    assert body(ask(stored, f"{path}?last=between"))["tags"] == ["v1", "v10", "v2"]
    none = ask(stored, f"{path}?n=0")
    assert body(none)["tags"] == []
    assert "Link" not in dict(none.headers)


def test_the_catalogue_comes_in_pages(stored: Stored) -> None:
    assert body(ask(stored, "/v2/_catalog")) == {"repositories": ["team/multi", "team/tool"]}
    first = ask(stored, "/v2/_catalog?n=1")
    assert dict(first.headers)["Link"] == '</v2/_catalog?n=1&last=team%2Fmulti>; rel="next"'
    assert body(ask(stored, "/v2/_catalog?n=1&last=team/multi"))["repositories"] == ["team/tool"]


def test_a_client_that_names_a_registry_gets_its_image(stored: Stored) -> None:
    other = put_program(stored.store, "other", 10)
    stored.store.name({"other.example.com:5000/team/tool:v1": other.descriptor})
    path = "/v2/team/tool/manifests/v1"
    assert ask(stored, f"{path}?ns={REGISTRY}").body == stored.tool.data
    assert ask(stored, f"{path}?ns=other.example.com:5000").body == other.data
    assert ask(stored, f"{path}?ns=unheard.example.com").body == other.data, "the first by name"
    assert ask(stored, f"/v2/{REGISTRY}/team/tool/manifests/v1").body == stored.tool.data


def test_an_image_that_has_no_tag(stored: Stored) -> None:
    bare = put_program(stored.store, "bare", 10)
    stored.store.name({f"{REGISTRY}/team/bare@{bare.digest}": bare.descriptor})
    assert ask(stored, f"/v2/team/bare/manifests/{bare.digest}").body == bare.data
    assert body(ask(stored, "/v2/team/bare/tags/list"))["tags"] == []
    assert ask(stored, "/v2/team/bare/manifests/latest").status == 404


def test_referrers(stored: Stored) -> None:
    path = f"/v2/team/tool/referrers/{stored.tool.digest}"
    assert body(ask(stored, path))["manifests"] == []
    signature = put_referrer(stored.store, stored.tool, "application/vnd.example.signature")
    parts = put_referrer(stored.store, stored.tool, "application/vnd.example.sbom")
    reply = ask(stored, path)
    assert ("Content-Type", OCI_INDEX) in reply.headers
    assert {each["digest"] for each in body(reply)["manifests"]} == {signature, parts}
    some = ask(stored, f"{path}?artifactType=application/vnd.example.sbom")
    assert ("OCI-Filters-Applied", "artifactType") in some.headers
    (found,) = body(some)["manifests"]
    assert found["artifactType"] == "application/vnd.example.sbom"
    assert found["annotations"] == {"made": "for a test"}
    assert body(ask(stored, f"/v2/team/tool/referrers/{NOWHERE}"))["manifests"] == []


def test_a_blob_of_the_wrong_size_is_not_served(stored: Stored) -> None:
    with stored.store.blobs.path(stored.layer.digest).open("ab") as file:
        file.write(b"x")
    reply = ask(stored, f"/v2/team/tool/blobs/{stored.layer.digest}")
    assert (reply.status, code(reply)) == (500, "UNKNOWN")
    assert reply.trouble is not None
    size = stored.layer.size_bytes
    assert reply.trouble.why == f"it has {size + 1} bytes, and should have {size}"


def test_a_damaged_manifest_is_not_served(stored: Stored) -> None:
    stored.store.blobs.path(stored.tool.digest).write_bytes(stored.tool.data.replace(b"layer", b"liver"))
    reply = ask(stored, "/v2/team/tool/manifests/v1")
    assert reply.status == 500
    assert reply.trouble is not None
    assert reply.trouble.digest == stored.tool.digest
    assert ask(stored, "/v2/team/multi/manifests/v1").status == 200, "the others are"


def test_what_the_store_lacks_is_told(stored: Stored) -> None:
    for digest, kind, said in (
        (stored.layer.digest, "blobs", "BLOB_UNKNOWN"),
        (stored.inner.digest, "manifests", "MANIFEST_UNKNOWN"),
    ):
        stored.store.blobs.path(digest).unlink()
        reply = ask(stored, f"/v2/team/tool/{kind}/{digest}")
        assert (reply.status, code(reply)) == (404, said)
        assert reply.trouble is not None
        assert reply.trouble.is_missing


def test_bytes_of_an_unheard_kind_are_served_as_they_are(stored: Stored) -> None:
    data = b'{"mediaType": "application/vnd.example.odd"}'
    digest = stored.store.blobs.put(data)
    image = stored.tool.descriptor
    stored.store.name(
        {f"{REGISTRY}/team/odd:v1": type(image)("application/vnd.example.odd", digest, len(data))}
    )
    reply = ask(stored, "/v2/team/odd/manifests/v1")
    assert (reply.status, reply.body) == (200, data)
    assert ("Content-Type", "application/vnd.example.odd") in reply.headers
    assert digest_of(reply.body) == digest
