# SPDX-License-Identifier: Apache-2.0
"""Whether the clock of the rendezvous host can be right, judged by the medium: all hosts follow this clock.

A medium says when it was made, and until when its tokens hold. A clock that says something in between is
believed. One from before the medium is wrong, and is set to when that was made: so late it is for sure. After
the end of the tokens either the clock is wrong or the medium is old; the further away, the rather the former.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec
from cryptography import x509

from muster.clock import render_moment
from muster.frozen import dataclass

OLD_MEDIUM: Final = timedelta(days=365)
"""So long after its tokens ended a medium may be found in a drawer; after that rather the clock is wrong."""


@dataclass(frozen=True)
class Window:
    """The times in which a medium is of use."""

    made: datetime
    ends: datetime


@dataclass(frozen=True)
class Judgement:
    """What becomes of a clock."""

    set_to: datetime | None = None
    """None: it stays as it is."""
    why: str = ""
    trouble: str = ""
    fix: str = ""


class _Claims(msgspec.Struct, frozen=True):
    iat: float | None = None
    exp: float | None = None


def judge(now: datetime, window: Window, governor: str = "") -> Judgement:
    """What becomes of a clock; one that a time server (``governor``) sets is that server's business."""
    made, ends = render_moment(window.made), render_moment(window.ends)
    if window.made <= now <= window.ends:
        return Judgement()
    is_early = now < window.made
    if not governor and (is_early or now > window.ends + OLD_MEDIUM):
        if is_early:
            return Judgement(window.made, f"the medium was made only at {made}, so it is later than that")
        return Judgement(window.made, f"the medium was made at {made}, and its tokens ended at {ends}")
    if is_early:
        return Judgement(
            trouble=f"by the time server {governor} it is earlier than {made}, when the medium was made",
            fix="compare that server with the machine that made the medium",
        )
    return Judgement(
        trouble=f"by the clock of this host the medium's tokens ended at {ends}",
        fix="make the medium again with `muster agent create image`, or set the clock if that is wrong",
    )


def find_window(token: str, certificate: x509.Certificate) -> Window:
    """When a medium is of use; what its token does not say, the certificate of its service does."""
    claims = _parse_claims(token)
    made, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if claims.iat is not None:
        made = max(made, datetime.fromtimestamp(claims.iat, UTC))
    if claims.exp is not None:
        ends = min(ends, datetime.fromtimestamp(claims.exp, UTC))
    return Window(made, ends)


def _parse_claims(token: str) -> _Claims:
    """What a token says of its own time; it is the medium's own, so nobody asks who signed it."""
    body = token.strip().split(".")[1:2]
    try:
        found = msgspec.json.decode(urlsafe_b64decode(f"{body[0]}=="), type=_Claims)
        for each in (found.iat, found.exp):
            datetime.fromtimestamp(each or 0, UTC)
    except (IndexError, ValueError, OverflowError, OSError, msgspec.DecodeError):
        return _Claims()
    return found
