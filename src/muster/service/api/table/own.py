# SPDX-License-Identifier: Apache-2.0
"""Objects of the operations that are ours alone."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct


class LoginAnswer(Struct, omit_defaults=True):
    """What one who has logged in, or asks who they are, is told."""

    persona: Annotated[str | None, Meta(description="Nothing when the caller is nobody yet.")] = None
    expires_at: Annotated[datetime | None, Meta(description="When the login ends.")] = None
    token: Annotated[str, Meta(description="For the header `Authorization`, behind `Bearer`.")] = ""
    csrf_token: Annotated[
        str, Meta(description="What changes with a session's cookie send as `X-CSRF-Token`.")
    ] = ""
    ways: Annotated[tuple[str, ...], Meta(description="How one can log in.")] = ()


class Health(Struct, frozen=True):
    """How the service is."""

    status: Literal["ok"]


class Readiness(Struct, frozen=True, omit_defaults=True):
    """Whether the service can take requests."""

    status: Annotated[str, Meta(description='"ready", or why it is not.')]
    warnings: Annotated[
        tuple[str, ...], Meta(description="What is wrong with the service although it is ready.")
    ] = ()
