# SPDX-License-Identifier: Apache-2.0
"""Opens the store that a directory or a URL names."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from muster.errors import UserError, cannot
from muster.redact import redact_url
from muster.service.store.claim import Claim
from muster.service.store.port import Store
from muster.service.store.sqlite import SqliteStore

FILE: Final = "muster.sqlite"
FORMS: Final = "name a directory, sqlite:///PATH or postgresql://HOST/DATABASE"


def open_store(where: str | Path) -> Store:
    """A store in a directory (a SQLite file in it), or at ``sqlite:///…`` or ``postgresql://…``."""
    if isinstance(where, Path) or "://" not in where:
        return SqliteStore(_make_folder(Path(where)) / FILE)
    scheme = where.partition("://")[0].lower()
    if scheme == "sqlite":
        return SqliteStore(find_sqlite_path(where))
    if is_shared(where):
        return _open_postgres(where)
    raise UserError(f"{redact_url(where)} is no database that Muster can use", hint=FORMS)


def is_shared(where: str) -> bool:
    """Whether several services may use a database at the same time."""
    return where.partition("://")[0].lower() in ("postgresql", "postgres")


def claim_store(where: str | Path) -> Claim | None:
    """A store that only one service may write is this one's from now on; one of PostgreSQL is for many."""
    path = find_database(where)
    return None if path is None else Claim(path)


def find_database(where: str | Path) -> Path | None:
    """The file of a SQLite database; its directory is made if it has to be. None: it is another database."""
    if isinstance(where, Path) or "://" not in where:
        return _make_folder(Path(where)) / FILE
    return find_sqlite_path(where) if where.lower().startswith("sqlite:") else None


def _make_folder(folder: Path) -> Path:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise cannot("create", folder, error) from error
    return folder


def find_sqlite_path(url: str) -> Path:
    """The file that ``sqlite:///PATH`` names."""
    path = url.partition("://")[2]
    if not path.startswith("/") or path.strip("/") == "" or "?" in path:
        raise UserError(
            f"{url} names no file", hint="write sqlite:///PATH with a whole path and nothing else"
        )
    return Path("/", path.lstrip("/"))


def _open_postgres(url: str) -> Store:
    import_postgres()
    from muster.service.store.postgres import PostgresStore

    return PostgresStore(url)


def import_postgres() -> None:
    """Have what PostgreSQL needs, which is not part of every Muster."""
    try:
        import muster.service.store.postgres  # noqa: F401 - only whether it can be had
    except ImportError as error:
        raise UserError(
            f"PostgreSQL needs the Python package psycopg, which is not there: {error}",
            hint="install Muster with it: pip install 'muster[postgresql]'",
        ) from error
