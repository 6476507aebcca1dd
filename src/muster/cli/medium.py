# SPDX-License-Identifier: Apache-2.0
"""What the verbs that make media share: their flags, and how they say what they did."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from muster.cli.options import Run
from muster.errors import UserError, cannot
from muster.image.manner import Manner

if TYPE_CHECKING:
    from muster.image.making import Making

F = TypeVar("F", bound=Callable[..., Any])
_OPTIONS: Final = (
    click.option(
        "--secrets", metavar="PATH", type=click.Path(path_type=Path),
        help="Use the secrets of another directory, or of a copy of its state file.",
    ),
    click.option(
        "--sign-key", metavar="FILE", type=click.Path(path_type=Path),
        help="Sign the checksum with this private key (PEM: Ed25519, ECDSA or RSA).",
    ),
    click.option("--sha256", is_flag=True, help="Write the SHA-256 of images, too; takes a second per GB."),
    click.option("--force", is_flag=True, help="Replace files that are not ours (a backup is kept)."),
)  # fmt: skip


def media_options(command: F) -> F:
    """The flags of all verbs that make media; the command is given them as `manner`."""

    @wraps(command)
    def gathered(
        *args: Any, secrets: Path | None, sign_key: Path | None, sha256: bool, force: bool, **kwargs: Any
    ) -> Any:
        return command(*args, manner=Manner(secrets, sign_key, sha256, force), **kwargs)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered  # type: ignore[return-value]


def tell(run: Run, making: Making, lines: Iterable[str] = (), **facts: Any) -> None:
    """Say what was done."""
    path = making.path(making.name)
    if run.as_json:
        body = {
            "medium": str(path),
            "created": [str(making.path(name)) for name in making.written],
            "changes": making.changes,
            "backups": making.backups,
            **facts,
        }
        click.echo(json.dumps(body, indent=2, ensure_ascii=False))
        return
    if not making.names:
        click.echo(f"nothing has changed: {path} is up to date")
        return
    if making.changes and not making.written:
        click.echo(f"{path} stays as it is, although {'; '.join(making.changes)}")
        return
    if making.changes:
        click.echo(f"made anew: {'; '.join(making.changes)}")
    for backup in making.backups:
        click.echo(f"what was there before is kept as {backup}")
    for line in (*(f"{making.path(name)} written" for name in making.written), *lines):
        click.echo(line)


def read_text(path: Path | None) -> str:
    """The text of a file that a flag names; nothing when it names none."""
    if path is None:
        return ""
    try:
        if path.exists() and not path.is_file():
            raise UserError(f"{path} is not a file", hint="name a file")
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not text in UTF-8", hint="name another file") from error
    except OSError as error:
        raise cannot("read", path, error) from error
