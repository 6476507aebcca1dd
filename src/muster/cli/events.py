# SPDX-License-Identifier: Apache-2.0
"""`muster events ...`: the log of the service, read beside it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from muster.cli import log, options
from muster.cli.lazy import LazyGroup
from muster.errors import UserError
from muster.frozen import dataclass

if TYPE_CHECKING:
    from muster.service.store.looking import Look

F = TypeVar("F", bound=Callable[..., Any])
_VERBS: Final = {
    "list": ("events_list:list_", "List what happened, as people are told it."),
    "replay": ("events_replay:replay", "Show the state as it was at a time, from the log alone."),
}


@click.group(
    cls=LazyGroup,
    verbs=_VERBS,
    epilog=options.examples(
        "muster events list --data /var/lib/muster --cluster alpha --since 2h",
        "muster events replay --data /var/lib/muster --at 2026-03-01T12:00:00Z",
    ),
)
def events() -> None:
    """Read the log of the service: every change that it accepted, in the order in which it was accepted.

    Only the database is read, and nothing is written: the service may run meanwhile, or not at all.
    """


@dataclass(frozen=True)
class Source:
    """Which log, and whose part of it."""

    where: str | Path
    cluster: str


def source(command: F) -> F:
    """--data, --database and --cluster; the command is given them as `source`."""

    @wraps(command)
    def gathered(*args: Any, data: Path, database: str, cluster: str, **kwargs: Any) -> Any:
        return command(*args, source=Source(database or data, cluster), **kwargs)

    for option in reversed(_SOURCE):
        gathered = option(gathered)
    return gathered  # type: ignore[return-value]


_SOURCE: Final = (
    click.option(
        "--data", metavar="DIR", type=click.Path(path_type=Path), default=Path("muster-data"),
        show_default=True, envvar="MUSTER_DATA", help="The directory that `muster serve` works in.",
    ),
    click.option(
        "--database", metavar="URL", default="", envvar="MUSTER_DATABASE",
        help="Its database, when that is elsewhere.",
    ),
    click.option("--cluster", metavar="NAME|ID", default="", help="Only this cluster or infra-env."),
)  # fmt: skip


def find_realm(store: Look, wanted: str) -> str:
    """The id of the cluster or infra-env that is meant, also when it is gone; empty when none is named."""
    if not wanted:
        return ""
    realms = list(store.load())
    if wanted in {realm.id for realm in realms}:
        return wanted
    found = [
        realm.id
        for realm in realms
        if wanted in {each.name for each in (realm.cluster, realm.infra_env) if each}
    ]
    found = found or _find_gone(store, wanted)
    if len(found) == 1:
        return found[0]
    if found:
        raise UserError(f"{wanted} is the name of several: {', '.join(found)}", hint="name one by its id")
    names = sorted({each.name for realm in realms for each in (realm.cluster, realm.infra_env) if each})
    raise UserError(
        f"there is no cluster or infra-env {wanted}",
        hint=f"there are: {', '.join(names)}" if names else "there are none at all",
    )


def _find_gone(store: Look, wanted: str) -> list[str]:
    from muster.service.store.port import Wanted

    told = store.told(Wanted())
    return list(dict.fromkeys(each.realm for each in told if each.event.values.get("name") == wanted))


def warn_of_loss(store: Look) -> None:
    """Tell the user that the log is not complete."""
    if store.lost:
        log.warn("%s; restore the database from a backup if there is one", store.lost)
