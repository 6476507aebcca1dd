# SPDX-License-Identifier: Apache-2.0
"""What all objects of the interface have in common."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, TypeAlias

import msgspec


class Wire(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """An object as it goes over the wire; what is not set is left out."""


def about(text: str) -> msgspec.Meta:
    """What readers of the OpenAPI document are told of a field."""
    return msgspec.Meta(description=text)


Time: TypeAlias = Annotated[datetime, msgspec.Meta(tz=True)]
Json: TypeAlias = Annotated[str | None, about("JSON in a string.")]
JsonList: TypeAlias = Annotated[str | None, about("JSON list in a string.")]
Servers: TypeAlias = Annotated[str | None, about("Time servers, separated by commas.")]
Tags: TypeAlias = Annotated[str | None, about("Words of the user's own, separated by commas.")]
PullSecret: TypeAlias = Annotated[
    str, about("JSON in a string, as the container tools know it; it is never shown again.")
]
PullSecretSet: TypeAlias = Annotated[bool | None, about("Whether one is known; it is never shown.")]
