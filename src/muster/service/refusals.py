# SPDX-License-Identifier: Apache-2.0
"""Why the service does not do what it is asked: each with the status that the interface answers."""

from __future__ import annotations

from typing import ClassVar

from muster.errors import ExternalError, MusterError, UserError


class Refusal(MusterError):
    """Something is not done as asked; nothing of it is."""

    code: ClassVar[int] = 400


class BadRequest(Refusal):
    """What was asked cannot be right."""


class Forbidden(Refusal):
    """It is not for this one to ask."""

    code = 403


class NotFound(Refusal):
    """There is no such thing."""

    code = 404


class StateConflict(Refusal):
    """It cannot be done now."""

    code = 409


class NotHere(Refusal):
    """This service does not do such things."""

    code = 501


class Unavailable(Refusal):
    """It cannot be done at the moment; asking again later may help."""

    code = 503


class Outdated(Unavailable):
    """What was to be answered is not so any more; what is, is known now."""


def code_of(error: MusterError) -> int:
    """The status that an error is answered with."""
    if isinstance(error, Refusal):
        return error.code
    return 400 if isinstance(error, UserError) else 503 if isinstance(error, ExternalError) else 500
