# SPDX-License-Identifier: Apache-2.0
"""One request and its answer, as the functions that answer see them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Any, Final, Protocol, TypeAlias, TypeVar

import msgspec

from muster.model.wire.files import Error
from muster.service.api.asking import read_flag
from muster.service.auth.personas import Grant, Persona, Scope
from muster.service.refusals import BadRequest
from muster.service.replies.reading import check_numbers
from muster.service.service import Service

T = TypeVar("T")
_encoder: Final = msgspec.json.Encoder()
JSON: Final = "application/json"
OCTETS: Final = "application/octet-stream"
_LONGEST_NUMBER: Final = 32
_LARGEST_NUMBER: Final = 1 << 53
_LONGEST_WAIT_S: Final = 90.0
_WAIT: Final = re.compile(r"(?:^|[,;\s])wait=(\d{1,4})(?:$|[,;\s])")


class LoginOperations(Protocol):
    """How people log in."""

    async def show(self, grant: Grant | None) -> Reply: ...

    async def log_in(self, address: str, body: bytes) -> Reply: ...

    async def log_out(self, grant: Grant | None) -> Reply: ...


class Call(msgspec.Struct, frozen=True):
    """A request that was let in."""

    service: Service
    ids: Mapping[str, str]
    """What stands for the names in braces of its path."""
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    grant: Grant | None
    request_id: str = ""
    client: str = ""
    """The address that it came from."""
    login: LoginOperations | None = None
    """Where people log in."""
    chunks: AsyncIterator[bytes] | None = None
    """The body as it comes, of an operation that is streamed; it can be read once."""

    def decode(self, kind: type[T]) -> T:
        """The body as what it has to be."""
        if not self.body:
            raise BadRequest("the body is missing", hint="send JSON")
        try:
            found = decoder_of(kind).decode(self.body)
        except msgspec.ValidationError as error:
            raise BadRequest(f"the body is not as it should be: {error}", hint="see /openapi.json") from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise BadRequest(f"the body is not JSON: {error}", hint="send JSON") from None
        except RecursionError:
            raise BadRequest("the body is nested too deeply", hint="see /openapi.json") from None
        check_numbers(found, self.body)
        return found

    def flag(self, name: str) -> bool | None:
        """A yes or no of the query."""
        text = self.query.get(name) or self.headers.get(name)
        return None if text is None else read_flag(text)

    def number(self, name: str, default: int) -> int:
        """A number of the query."""
        text = self.query.get(name)
        if text is None:
            return default
        return read_number(name, text)

    @property
    def patience_s(self) -> float:
        """How long the caller is ready to wait until there is something to say."""
        wanted = _WAIT.search(self.headers.get("prefer", ""))
        return min(_LONGEST_WAIT_S, float(wanted[1])) if wanted else 0.0

    def sees(self, **ids: str | None) -> bool:
        """Whether a thing in a list is for the caller to see."""
        return self.grant is None or self.grant.sees(Scope(**ids))

    @property
    def is_viewer(self) -> bool:
        """Whether the caller may only look, and sees no secrets."""
        return self.grant is not None and self.grant.persona is Persona.WATCHER

    def words(self, name: str) -> tuple[str, ...]:
        """A list of the query, separated by commas."""
        return tuple(filter(None, self.query.get(name, "").split(",")))


def read_number(name: str, text: str) -> int:
    """A whole number that a request gives; one that nothing can calculate with is refused."""
    try:
        found = int(text[:_LONGEST_NUMBER])
    except ValueError:
        raise BadRequest(f"{name}: {text[:100]!r} is not a number") from None
    if len(text) > _LONGEST_NUMBER or abs(found) > _LARGEST_NUMBER:
        raise BadRequest(f"{name}: the number is out of range", hint="give one of at most 53 bits")
    return found


_decoders: dict[type[Any], msgspec.json.Decoder[Any]] = {}


def decoder_of(kind: type[T]) -> msgspec.json.Decoder[T]:
    """A decoder that is made once."""
    found = _decoders.get(kind)
    if found is None:
        found = _decoders[kind] = msgspec.json.Decoder(kind)
    return found


class Reply(msgspec.Struct, frozen=True):
    """An answer: a whole body, or one that comes piece by piece."""

    status: int
    body: bytes | AsyncIterator[bytes] = b""
    media_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()


Answers: TypeAlias = Callable[[Call], Coroutine[Any, Any, Reply]]
OPERATIONS: Final[dict[str, Answers]] = {}
STREAMED: Final[set[str]] = set()
"""Operations that read their bodies as they come."""


def answers(operation_id: str, *, is_streamed: bool = False) -> Callable[[Answers], Answers]:
    """This function answers that operation."""

    def declare(function: Answers) -> Answers:
        OPERATIONS[operation_id] = function
        if is_streamed:
            STREAMED.add(operation_id)
        return function

    return declare


def reply(body: Any, status: int = 200, *headers: tuple[str, str]) -> Reply:
    """An answer in JSON."""
    return Reply(status, _encoder.encode(body), JSON, headers)


def empty(status: int = 204) -> Reply:
    """An answer without a body."""
    return Reply(status)


def error_reply(status: int, reason: str, *headers: tuple[str, str], hint: str = "") -> Reply:
    """A refusal in words, in the form that existing clients know."""
    body = Error(kind="Error", id=status, href="", code=str(status), reason=reason, hint=hint)
    return Reply(status, _encoder.encode(body), JSON, headers)


def file(body: bytes, name: str, media_type: str = OCTETS) -> Reply:
    """A file to be saved under a name."""
    return Reply(200, body, media_type, (("content-disposition", f'attachment; filename="{name}"'),))
