# SPDX-License-Identifier: Apache-2.0
"""Where a service is, who calls it, and how its certificate is judged."""

from __future__ import annotations

import ssl
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from typing import Final

from muster.errors import cannot
from muster.frozen import dataclass

BASE_PATH: Final = "/api/assisted-install"
HOST_TOKEN: Final = "X-Muster-Host-Token"  # noqa: S105 - the name of a header
"""In the answer to a registration: a token that is good for that host alone."""
_NO_CHECK_TIME: Final = ssl.VerifyFlags(0x200000)
"""X509_V_FLAG_NO_CHECK_TIME of OpenSSL, which the library has no name for."""


class Caller(StrEnum):
    """Who calls: each kind shows its token in a header of its own."""

    AGENT = "X-Secret-Key"
    USER = "Authorization"
    WATCHER = "Watcher-Authorization"


@dataclass(frozen=True)
class Target:
    """A service, as one of its callers knows it."""

    url: str
    """Without the path of the interface."""
    caller: Caller = Caller.AGENT
    token: str = field(default="", repr=False)
    authority: Path | None = None
    """Who signed its certificate; without it, those that the system trusts."""

    @property
    def base(self) -> str:
        """Where the operations of its interface begin."""
        return f"{self.url.rstrip('/')}{BASE_PATH}/v2"


def ignore_dates(context: ssl.SSLContext) -> ssl.SSLContext:
    """The same, for somebody whose clock may be wrong: the dates of certificates are not looked at."""
    context.verify_flags |= _NO_CHECK_TIME
    return context


def make_context(authority: Path | None, *, at_any_time: bool = False) -> ssl.SSLContext:
    """How the certificate of a service is judged; somebody whose clock is wrong cannot judge its dates."""
    try:
        context = ssl.create_default_context(cafile=authority)
    except OSError as error:
        assert authority is not None
        raise cannot("use", authority, error) from error
    return ignore_dates(context) if at_any_time else context
