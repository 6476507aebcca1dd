# SPDX-License-Identifier: Apache-2.0
"""The certificate of a running service: renewed before it expires, loaded again when a site renewed its own.

New connections get the new certificate; those that are open keep theirs.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import ssl
from collections.abc import Callable
from dataclasses import field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from muster.certificates.keys import Random, public_der
from muster.errors import MusterError
from muster.frozen import dataclass
from muster.service.edge.given import Given, doubts, read_identity
from muster.service.edge.tls import (
    RENEW_BEFORE,
    Identity,
    Moment,
    certify_authority,
    load_authority,
    load_chain,
    make_context,
    make_identity,
)

_log: Final = logging.getLogger("muster.service")
CHECK_S: Final = 60.0
"""How often a running service looks at its certificate."""
_LOCAL: Final = ("localhost", "127.0.0.1", "::1")
"""What people call it who are on the same machine."""
_FAILURES: Final = 2
_REMIND: Final = timedelta(days=1)


@dataclass(frozen=True)
class Wanted:
    """Which certificate a service shows."""

    keys: Path
    """Where its authority is, and the certificate that it makes."""
    names: tuple[str, ...]
    given: Given | None
    """A certificate of the site; without one the service makes its own."""
    random: Random = field(repr=False)


class ServedCertificate:
    """What callers see, and the TLS context that shows it."""

    def __init__(self, wanted: Wanted, clock: Callable[[], datetime]) -> None:
        self._wanted, self._clock = wanted, clock
        self.authority = load_authority(wanted.keys, Moment(clock(), wanted.random))
        """Its key stays as long as the service runs, whatever becomes of the file."""
        self.identity = self._find()
        self.on_renewed: Callable[[], object] = _nothing
        """Called when callers see another certificate."""
        self.context: ssl.SSLContext = make_context(self.identity.path, self.identity.key)
        self._failures = 0
        """How many checks in a row failed."""
        self._reminded: datetime | None = None

    def _find(self) -> Identity:
        wanted = self._wanted
        moment = Moment(self._clock(), wanted.random)
        self.authority = certify_authority(wanted.keys, self.authority.key, moment.now)
        if wanted.given is not None:
            return read_identity(wanted.given, self.authority.pem, moment.now)
        names = tuple(dict.fromkeys((*wanted.names, *_LOCAL)))
        return make_identity(wanted.keys, names, moment, self.authority)

    @property
    def authority_id(self) -> str:
        """By what the key of its authority is told from others."""
        return hashlib.sha256(public_der(self.authority.key.public_key())).hexdigest()[:16]

    def doubts(self) -> tuple[str, ...]:
        """What is most likely wrong with the certificate that it was given."""
        given = self._wanted.given
        return () if given is None else tuple(doubts(given, self._wanted.names, self._clock()))

    def renew(self) -> bool:
        """Look at the certificate again, and show it from now on if it is another one and a good one."""
        found = self._find()
        if found == self.identity:
            return False
        load_chain(self.context, found.path, found.key)
        self.identity = found
        self._reminded = None
        self.on_renewed()
        return True

    def warnings(self) -> tuple[str, ...]:
        """What callers should know: an expired certificate, or one that expires soon."""
        expires, now = self.identity.expires_at, self._clock()
        if expires is None or now < expires - RENEW_BEFORE:
            return ()
        if expires <= now:
            return (f"the certificate of the service expired at {expires:%Y-%m-%d %H:%M} UTC: renew it",)
        return (f"the certificate of the service expires at {expires:%Y-%m-%d %H:%M} UTC: renew it",)

    def check(self) -> None:
        """Renew it if it is time. A failure is logged once, and tried again with the next check."""
        try:
            renewed = self.renew()
        except Exception as error:  # noqa: BLE001 - whatever it is, it must not end the checks
            self._failures += 1
            # A site replaces certificate and key one after the other: the first failure may be in between.
            if self._failures == _FAILURES:
                _tell(error)
        else:
            self._failures = 0
            if renewed:
                _log.info("the certificate was renewed; its fingerprint is %s", self.identity.fingerprint)
        self._remind()

    def _remind(self) -> None:
        now = self._clock()
        if self._reminded is not None and now - self._reminded < _REMIND:
            return
        for text in self.warnings():
            self._reminded = now
            _log.warning("%s", text)

    async def watch(self, every_s: float = CHECK_S) -> None:
        """Check again and again, until cancelled."""
        while True:
            await asyncio.sleep(every_s)
            self.check()


def _tell(error: Exception) -> None:
    if isinstance(error, MusterError):
        _log.warning("the certificate stays as it was: %s; %s", error.message, error.hint)
    else:
        _log.error("the certificate stays as it was, through a bug in Muster", exc_info=error)


def _nothing() -> None:
    pass
