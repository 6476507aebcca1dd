# SPDX-License-Identifier: Apache-2.0
"""The policy of the media server: what is answered, by the request and by what infra-envs there are.

It knows nothing of connections, so that every server can use it: the plain one for firmware, and the one of
the interface, which encrypts.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import field, replace
from typing import BinaryIO, Final, Protocol

from muster.errors import ExternalError, MusterError
from muster.frozen import dataclass
from muster.service.media.bases import NotThere
from muster.service.media.compose import Composer, Medium
from muster.service.media.order import Kind, MediumOrder
from muster.service.media.paths import Target, parse_target
from muster.service.media.signing import AddressRefused, Reason, Signer
from muster.serving.head import Head, Headers
from muster.serving.quiet_log import QuietLog
from muster.serving.ranges import Choice, Span, choose, render_date
from muster.serving.sending import FilePart, Part

_logger: Final = logging.getLogger(__name__)
_METHODS: Final = ("GET", "HEAD")
_NAMES: Final = {
    Kind.FULL: "discovery.iso",
    Kind.MINIMAL: "discovery.iso",
    Kind.DISCONNECTED: "discovery.iso",
    Kind.INITRD: "initrd.img",
    Kind.KERNEL: "vmlinuz",
    Kind.ROOTFS: "rootfs.img",
}


@dataclass(frozen=True)
class Offer:
    """An infra-env as media see it."""

    order: MediumOrder
    key_id: str
    """Addresses that were signed under another one are void."""


class Offers(Protocol):
    """Gives what is known of an infra-env now; asked in threads, and answers at once."""

    def find(self, infra_env_id: str) -> Offer | None: ...


@dataclass(frozen=True)
class Asked:
    """A request."""

    method: str
    path: str
    """Decoded."""
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    """By names in lower case."""


@dataclass(frozen=True)
class Reply:
    """An answer; whoever sent it closes it."""

    head: Head
    parts: tuple[Part, ...] = field(default=(), repr=False)
    held: ExitStack = field(default_factory=ExitStack, repr=False, compare=False)

    def close(self) -> None:
        self.held.close()


class Desk:
    """Answers requests for media."""

    def __init__(self, offers: Offers, composer: Composer, signer: Signer, *, is_open: bool = False) -> None:
        self._offers = offers
        self._composer = composer
        self._signer = signer
        self._is_open = is_open
        """Whether media are given away without a token, too."""
        self._quiet = QuietLog(_logger, time.monotonic)

    def answer(self, asked: Asked) -> Reply:
        """The answer to a request; it may take a while when a medium is asked for the first time."""
        if asked.method not in _METHODS:
            return _error(405, "media can only be fetched", (("Allow", ", ".join(_METHODS)),))
        target = parse_target(asked.path, asked.query)
        if target is None:
            return _error(404, "there is nothing at this address")
        try:
            return self._send(asked, target)
        except AddressRefused as error:
            self._report(logging.INFO, target, "%s is refused: %s", error.reason)
            return _refusal(403, error.message)
        except ExternalError as error:
            self._report(logging.ERROR, target, "%s cannot be served: %s", error.message)
            return _error(500, "the base image cannot be read; the log of the service says more")
        except NotThere as error:
            return _error(404, error.message)
        except MusterError as error:
            self._report(logging.ERROR, target, "%s cannot be served: %s", error.message)
            return _error(500, error.message)

    def _report(self, level: int, target: Target, message: str, reason: str) -> None:
        """One line a minute for each reason: anybody can ask for a medium as often as they like."""
        self._quiet.write(level, f"{target.kind} {reason}", message, target.kind, reason)

    def _send(self, asked: Asked, target: Target) -> Reply:
        held = ExitStack()
        try:
            if target.kind is not None and target.kind.is_public:
                kind = target.kind
                opened = self._composer.open_public(target.architecture, target.version, kind)
                name = _NAMES[kind]
            else:
                order = self._find_order(target)
                kind = target.kind or order.image_type
                opened = self._composer.open(order, kind)
                name = f"{order.infra_env_id}-{_NAMES[kind]}"
            medium, file = held.enter_context(opened)
            return _reply(asked, name, medium, file, held)
        except BaseException:
            held.close()
            raise

    def _find_order(self, target: Target) -> MediumOrder:
        infra_env_id = self._admit(target)
        offer = self._offers.find(infra_env_id)
        if offer is None:
            raise NotThere(f"there is no infra-env {infra_env_id}", hint="list those that there are")
        order = offer.order
        return replace(
            order,
            version=target.version or order.version,
            architecture=target.architecture or order.architecture,
        )

    def _admit(self, target: Target) -> str:
        """The infra-env whose media the client may have."""
        if not target.token:
            if not self._is_open:
                raise AddressRefused(Reason.MISSING)
            return target.infra_env_id
        found = self._signer.check(target.token, self._find_key_id)
        if target.infra_env_id not in ("", found):
            raise AddressRefused(Reason.OTHER)
        return found

    def _find_key_id(self, infra_env_id: str) -> str | None:
        offer = self._offers.find(infra_env_id)
        return offer.key_id if offer else None


def _reply(asked: Asked, name: str, medium: Medium, file: BinaryIO, held: ExitStack) -> Reply:
    choice = choose(asked.method, asked.headers, medium.entity)
    headers: Headers = (
        ("ETag", medium.etag),
        ("Accept-Ranges", "bytes"),
        ("Cache-Control", "no-cache" if medium.modified is None else "private, no-cache"),
        ("Content-Type", "application/octet-stream"),
        ("Content-Disposition", f'attachment; filename="{name}"'),
        *choice.headers,
    )
    if medium.modified is not None:
        headers = (*headers, ("Last-Modified", render_date(medium.modified)))
    return _fill(asked, headers, choice, tuple(_parts(medium, file, choice.span)), held)


def _fill(asked: Asked, headers: Headers, choice: Choice, parts: tuple[Part, ...], held: ExitStack) -> Reply:
    head = Head(choice.status, headers, choice.span.count if choice.span else 0)
    return Reply(head, parts if asked.method == "GET" else (), held)


def _parts(medium: Medium, file: BinaryIO, span: Span | None) -> list[Part]:
    if span is None:
        return []
    return [
        FilePart(file, Span(each.at, each.length)) if each.data is None else each.data
        for each in medium.assembly.cut(span.start, span.count)
    ]


def _error(status: int, reason: str, headers: Headers = ()) -> Reply:
    body = {"kind": "Error", "id": status, "href": "", "code": str(status), "reason": reason}
    return _json(status, body, headers)


def _refusal(status: int, message: str) -> Reply:
    return _json(status, {"code": status, "message": message}, ())


def _json(status: int, body: Mapping[str, object], headers: Headers) -> Reply:
    data = json.dumps(body).encode() + b"\n"
    kind = (("Content-Type", "application/json"), ("Cache-Control", "no-store"))
    return Reply(Head(status, (*kind, *headers), len(data)), (data,))
