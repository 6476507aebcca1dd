# SPDX-License-Identifier: Apache-2.0
"""Why the service does not do what it is asked: each with the status that the interface answers."""

from __future__ import annotations

import re
from typing import ClassVar, Final

from muster.errors import ExternalError, MusterError, UserError

_PATH: Final = re.compile(r"(?<!\S)(?![a-z][a-z0-9+.-]*://)['\"(]*[^\s:;,]*/[^\s:;,'\")]*")
"""A word with a slash in it that is not a URL."""
_OWN_PATH: Final = re.compile(r"(?<![\w:/.])/(?:data|home|mnt|opt|root|run|srv|tmp|usr|var)/[^\s:;,'\")]*")
_OWN_FILE: Final = "a file of the service"
_SEE_LOG: Final = "see the log of the service"


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


class TooManyEvents(Refusal):
    """A host sends more events than are kept."""

    code = 429


class TooLarge(Refusal):
    """What was sent is larger than is taken."""

    code = 413


class NoSpace(Refusal):
    """There is no disk space for what was sent."""

    code = 507


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


def for_callers(error: MusterError) -> tuple[str, str]:
    """The message and the hint of an error as callers of the interface may read them.

    They name no file of the service, and no option of its command line, which callers cannot change.
    """
    if isinstance(error, Refusal):
        return error.message, error.hint
    paths = _PATH if isinstance(error, ExternalError) else _OWN_PATH
    message, hint = paths.sub(_OWN_FILE, error.message), paths.sub(_OWN_FILE, error.hint)
    if message != error.message and "--" in hint:
        hint = _SEE_LOG
    return message, hint
