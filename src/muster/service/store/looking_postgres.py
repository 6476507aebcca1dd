# SPDX-License-Identifier: Apache-2.0
"""A database of PostgreSQL that is only looked at; a standby will do."""

from __future__ import annotations

from collections.abc import Sequence

from muster.errors import MusterError
from muster.service.store.link import Address, Link, parse_address
from muster.service.store.looking import check_version, no_log, not_writing
from muster.service.store.port import Change
from muster.service.store.postgres import PostgresStore
from muster.service.store.schema import load_steps


class PostgresLook(PostgresStore):
    """One connection that cannot write."""

    def __init__(self, url: str) -> None:
        given = parse_address(url).parameters
        options = f"{given.get('options', '')} -c default_transaction_read_only=on".strip()
        self._address = Address({**given, "target_session_attrs": "any", "options": options})
        self._reader = Link(self._address)
        try:
            self._check()
        except MusterError:
            self.close()
            raise

    def _check(self) -> None:
        ((found,),) = self._select("SELECT to_regclass('schema') IS NOT NULL")
        if not found:
            raise no_log(str(self._address))
        ((version,),) = self._select("SELECT coalesce(max(version), 0) FROM schema")
        check_version(version, len(load_steps("postgresql")), str(self._address))

    def last(self) -> int:
        ((place,),) = self._select("SELECT coalesce(max(sequence), 0) FROM events")
        return int(place)

    def commit(self, changes: Sequence[Change]) -> None:  # noqa: ARG002 - the names are the store's
        raise not_writing(str(self._address))

    def write_note(self, name: str, value: str) -> None:  # noqa: ARG002 - the names are the store's
        raise not_writing(str(self._address))

    def scrub(self) -> None:
        raise not_writing(str(self._address))

    def close(self) -> None:
        self._reader.close()
