# SPDX-License-Identifier: Apache-2.0
"""The policy of the registry: what is answered, by the request and by what is on the shelf."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote, urlencode

from muster.release.oci.digest import Digest, is_digest
from muster.release.oci.manifest import OCI_INDEX, Manifest
from muster.release.registry.asked import (
    Asked,
    Kind,
    Target,
    is_name,
    is_tag,
    is_wellformed_digest,
    parse_target,
)
from muster.release.registry.reply import Code, Headers, Refused, Reply, Trouble
from muster.release.registry.shelf import Shelf
from muster.serving.ranges import Entity, choose, names_etag

_API: Final = ("Docker-Distribution-Api-Version", "registry/2.0")
_JSON: Final = ("Content-Type", "application/json")
_FRESH: Final = ("Cache-Control", "no-cache")
_FOR_EVER: Final = ("Cache-Control", "max-age=31536000, immutable")
_METHODS: Final = ("GET", "HEAD")


def answer(asked: Asked, shelf: Shelf) -> Reply:
    """The answer to a request."""
    try:
        return _answer(asked, shelf)
    except Refused as refused:
        return refused.reply


def _answer(asked: Asked, shelf: Shelf) -> Reply:
    if asked.method not in _METHODS:
        raise Refused(405, Code.UNSUPPORTED, "this registry is read-only", (("Allow", ", ".join(_METHODS)),))
    target = parse_target(asked.path)
    if target is None:
        raise Refused(404, Code.NAME_UNKNOWN, "there is nothing here; the API begins at /v2/")
    if target.name:
        _check_name(asked, target, shelf)
    match target.kind:
        case Kind.VERSION:
            return Reply(200, (_API, _JSON, _FRESH), b"{}\n")
        case Kind.CATALOG:
            return _page(asked, "repositories", shelf.names.repositories, {})
        case Kind.MANIFEST:
            return _manifest(asked, target, shelf)
        case Kind.BLOB:
            return _blob(asked, target, shelf)
        case Kind.TAGS:
            tags = shelf.names.tags(target.name, asked.namespace)
            return _page(asked, "tags", tags, {"name": target.name})
        case Kind.REFERRERS:
            return _referrers(asked, target, shelf)


def _check_name(asked: Asked, target: Target, shelf: Shelf) -> None:
    if not is_name(target.name):
        raise Refused(400, Code.NAME_INVALID, "that is no name of a repository")
    if not shelf.names.at(target.name, asked.namespace):
        raise Refused(404, Code.NAME_UNKNOWN, f"there is no repository {target.name}")


def _manifest(asked: Asked, target: Target, shelf: Shelf) -> Reply:
    digest = _parse_digest(target.wanted) if ":" in target.wanted else _find_tag(asked, target, shelf)
    found = shelf.find_manifest(digest) if digest else None
    if isinstance(found, Trouble) and not found.is_missing:
        raise _damaged(found)
    if found is None or isinstance(found, Trouble):
        message = f"{target.name} has no manifest {target.wanted}"
        raise Refused(404, Code.MANIFEST_UNKNOWN, message, trouble=found)
    return _send_manifest(asked, found, is_fixed=":" in target.wanted)


def _find_tag(asked: Asked, target: Target, shelf: Shelf) -> Digest | None:
    found = shelf.names.find_tag(target.name, target.wanted, asked.namespace)
    return found.digest if found and is_tag(target.wanted) else None


def _send_manifest(asked: Asked, manifest: Manifest, *, is_fixed: bool) -> Reply:
    headers = (
        *_content_headers(manifest.digest, is_fixed=is_fixed),
        ("Content-Type", manifest.media_type),
    )
    if names_etag(asked.headers.get("if-none-match", ""), _etag(manifest.digest)):
        return Reply(304, headers)
    return Reply(200, headers, manifest.data)


def _blob(asked: Asked, target: Target, shelf: Shelf) -> Reply:
    digest = _parse_digest(target.wanted)
    found = shelf.find_blob(digest) if digest else None
    if isinstance(found, Trouble) and not found.is_missing:
        raise _damaged(found)
    if digest is None or found is None or isinstance(found, Trouble):
        message = f"there is no blob {target.wanted}"
        raise Refused(404, Code.BLOB_UNKNOWN, message, trouble=found if isinstance(found, Trouble) else None)
    headers = (
        *_content_headers(digest, is_fixed=True),
        ("Content-Type", "application/octet-stream"),
        ("Accept-Ranges", "bytes"),
    )
    choice = choose(asked.method, asked.headers, Entity(found, _etag(digest)))
    if choice.status == 416:
        raise Refused(416, Code.UNSUPPORTED, f"{digest} has {found} bytes", choice.headers)
    if choice.span is None:
        return Reply(choice.status, headers)
    return Reply(choice.status, (*headers, *choice.headers), digest=digest, span=choice.span)


def _referrers(asked: Asked, target: Target, shelf: Shelf) -> Reply:
    digest = _parse_digest(target.wanted)
    found = shelf.find_referrers(digest) if digest else []
    headers: Headers = (("Content-Type", OCI_INDEX), _FRESH)
    wanted = asked.query.get("artifactType")
    if wanted is not None:
        found = [each for each in found if each.get("artifactType") == wanted]
        headers = (*headers, ("OCI-Filters-Applied", "artifactType"))
    body = {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": found}
    return Reply(200, headers, json.dumps(body).encode() + b"\n")


def _page(asked: Asked, key: str, items: Sequence[str], body: dict[str, Any]) -> Reply:
    """Some of a sorted list, and where the next ones are."""
    written = asked.query.get("n")
    if written is not None and not (written.isascii() and written.isdigit() and len(written) < 10):
        raise Refused(400, Code.UNSUPPORTED, "n has to be a number")
    left = items[bisect_right(items, asked.query["last"]) :] if "last" in asked.query else items
    shown = left if written is None else left[: int(written)]
    headers: Headers = (_API, _JSON, _FRESH)
    if shown and len(shown) < len(left):
        query = urlencode({**asked.query, "n": written, "last": shown[-1]})
        headers = (*headers, ("Link", f'<{quote(asked.path)}?{query}>; rel="next"'))
    return Reply(200, headers, json.dumps({**body, key: list(shown)}).encode() + b"\n")


def _parse_digest(text: str) -> Digest | None:
    """A digest; None for one of an algorithm that nothing here is named by."""
    if not is_wellformed_digest(text):
        raise Refused(400, Code.DIGEST_INVALID, "that is no digest")
    return Digest(text) if is_digest(text) else None


def _content_headers(digest: Digest, *, is_fixed: bool) -> Headers:
    return (
        _API,
        ("Docker-Content-Digest", digest),
        ("ETag", _etag(digest)),
        _FOR_EVER if is_fixed else _FRESH,
    )


def _etag(digest: Digest) -> str:
    return f'"{digest}"'


def _damaged(trouble: Trouble) -> Refused:
    return Refused(
        500, Code.UNKNOWN, f"the store that is served is damaged: {trouble.digest}", trouble=trouble
    )
