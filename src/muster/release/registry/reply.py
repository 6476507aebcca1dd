# SPDX-License-Identifier: Apache-2.0
"""What a registry answers, as plain data; errors have the form and the codes of the specification."""

from __future__ import annotations

import json
from enum import StrEnum

from muster.frozen import dataclass
from muster.release.oci.digest import Digest
from muster.serving.ranges import Span

Headers = tuple[tuple[str, str], ...]


class Code(StrEnum):
    """Why a request was refused, as clients read it."""

    BLOB_UNKNOWN = "BLOB_UNKNOWN"
    DIGEST_INVALID = "DIGEST_INVALID"
    MANIFEST_UNKNOWN = "MANIFEST_UNKNOWN"
    NAME_INVALID = "NAME_INVALID"
    NAME_UNKNOWN = "NAME_UNKNOWN"
    UNAUTHORIZED = "UNAUTHORIZED"
    UNSUPPORTED = "UNSUPPORTED"
    UNKNOWN = "UNKNOWN"
    """For what is our fault; the specification has none for that."""


@dataclass(frozen=True)
class Trouble:
    """Something that should be in the store as its name says, and is not."""

    digest: Digest
    why: str
    is_missing: bool = False


def missing(digest: Digest) -> Trouble:
    return Trouble(digest, "it is not in the store", is_missing=True)


@dataclass(frozen=True)
class Reply:
    """An answer: a small body, or some of a blob."""

    status: int
    headers: Headers = ()
    body: bytes = b""
    digest: Digest | None = None
    """The blob that is sent instead of the body."""
    span: Span | None = None
    trouble: Trouble | None = None
    """What the operator should know."""

    @property
    def length(self) -> int:
        return self.span.count if self.span else len(self.body)


class Refused(Exception):
    """A request that gets an error for an answer."""

    def __init__(
        self, status: int, code: Code, message: str, headers: Headers = (), trouble: Trouble | None = None
    ) -> None:
        super().__init__(message)
        self._reply = render_error(status, code, message, headers, trouble)

    @property
    def reply(self) -> Reply:
        return self._reply


def render_error(
    status: int, code: Code, message: str, headers: Headers = (), trouble: Trouble | None = None
) -> Reply:
    body = json.dumps({"errors": [{"code": code, "message": message}]}).encode() + b"\n"
    kind = (("Content-Type", "application/json"), ("Cache-Control", "no-store"))
    return Reply(status, (*kind, *headers), body, trouble=trouble)
