# SPDX-License-Identifier: Apache-2.0
"""Requests, responses and errors as Redfish has them, apart from any server."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from muster.frozen import dataclass

_REGISTRY: Final = "Base.1.8"


@dataclass(frozen=True)
class Request:
    """What a client asks."""

    method: str
    path: str
    """Without a query, and without a slash at its end."""
    headers: Mapping[str, str]
    """With names in lower case."""
    body: bytes = b""

    def parse_json(self) -> dict[str, Any]:
        """The object that the body has to be; an empty one is an empty object."""
        try:
            found: object = json.loads(self.body or b"{}")
        except ValueError as error:
            raise Refused(400, "MalformedJSON", "the body is not JSON") from error
        if not isinstance(found, dict):
            raise Refused(400, "MalformedJSON", "the body is not a JSON object")
        return found


@dataclass(frozen=True)
class Response:
    """What it is told."""

    status: int
    body: Mapping[str, Any] | None = None
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def content(self) -> bytes:
        return b"" if self.body is None else json.dumps(self.body, indent=2).encode() + b"\n"


class Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, message_id: str, message: str, headers: tuple[tuple[str, str], ...] = ()):
        super().__init__(message)
        self.status = status
        self.message_id = message_id
        self.message = message
        self.headers = headers

    def response(self) -> Response:
        code = f"{_REGISTRY}.{self.message_id}"
        extended = {
            "@odata.type": "#Message.v1_1_1.Message",
            "MessageId": code,
            "Message": self.message,
            "Severity": "Critical",
        }
        body = {"error": {"code": code, "message": self.message, "@Message.ExtendedInfo": [extended]}}
        return Response(self.status, body, self.headers)


def etag_of(body: Mapping[str, Any]) -> str:
    """Changes whenever what is told about a resource does."""
    return f'"{hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:16]}"'


def matches(etag: str, condition: str) -> bool:
    """Whether an If-Match or If-None-Match header means a resource as it is; weak tags count as strong."""
    given = [each.strip().removeprefix("W/") for each in condition.split(",")]
    return "*" in given or etag in given
