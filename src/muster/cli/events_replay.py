# SPDX-License-Identifier: Apache-2.0
"""`muster events replay`: the state at a time, made from the log alone, and whether the rows agree."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from muster.cli import options, progress
from muster.cli.events import Source, find_realm, source, warn_of_loss
from muster.cli.store import plural
from muster.errors import ExitStatus
from muster.redact import printable

if TYPE_CHECKING:
    from muster.service.realm import Realm
    from muster.service.replay import Difference
    from muster.service.state import Host
    from muster.service.store.looking import Look
    from muster.service.store.port import Logged


@click.command(
    epilog=options.examples(
        "muster events replay --data /var/lib/muster",
        "muster events replay --cluster alpha --at 2026-03-01T12:00:00Z",
        "muster events replay --cluster alpha --at 10m -o json > ten-minutes-ago.json",
    )
)
@source
@click.option(
    "--at", metavar="TIME", default="", help="2026-03-01T12:00:00Z, or how long ago: 2h.  [default: now]"
)
@options.log_level
@options.output
def replay(source: Source, at: str, log_level: str | None, output_format: str) -> ExitStatus:
    """Show clusters, infra-envs and hosts as they were at a time, made from the log alone.

    Then it is checked that the whole log makes the state that the database has now. The JSON has every field
    that the service keeps; secrets are left out.

    Exit status: 0 when log and state agree, 1 when they do not.
    """
    as_json = options.begin_without_site(log_level, output_format)
    from muster.service.replay import check_store
    from muster.service.store.looking import look_at
    from muster.units import parse_time

    moment = parse_time(at, datetime.now(UTC)) if at else datetime.now(UTC)
    with closing(look_at(source.where)) as store:
        warn_of_loss(store)
        realm = find_realm(store, source.cluster)
        realms, count = _replay(store, realm, moment)
        differences = check_store(store, realm, _watch("comparing log and state", store))
    if as_json:
        click.echo(json.dumps(_body(moment, count, realms, differences), indent=2, ensure_ascii=False))
    else:
        for line in _lines(moment, count, realms, differences):
            click.echo(printable(line))
    return ExitStatus.FAILED if differences else ExitStatus.OK


def _replay(store: Look, realm: str, moment: datetime) -> tuple[list[Realm], int]:
    """The realms at that time, and how many events had been written by then."""
    from muster.service.replay import replay as fold

    count = 0

    def counted(log: Iterable[Logged]) -> Iterator[Logged]:
        nonlocal count
        for each in log:
            count += each.event.at <= moment
            yield each

    log = _watch("replaying", store)(store.log(realm))
    return list(fold(counted(log), moment).values()), count


def _watch(label: str, store: Look) -> Callable[[Iterable[Logged]], Iterator[Logged]]:
    """A log as it is, with a bar while it is read."""

    def watched(log: Iterable[Logged]) -> Iterator[Logged]:
        before = 0
        with progress.bar(label, total=store.last(), unit="events") as advance:
            for each in log:
                advance(each.sequence - before)
                before = each.sequence
                yield each

    return watched


def _body(moment: datetime, count: int, realms: list[Realm], differences: list[Difference]) -> dict[str, Any]:
    from muster.service.masking import mask_subject

    return {
        "at": moment.isoformat(),
        "events": count,
        "realms": [
            {
                "id": realm.id,
                "version": realm.version,
                "subjects": [mask_subject(subject) for subject in realm.subjects()],
            }
            for realm in realms
        ],
        "consistent": not differences,
        "differences": [
            {"realm": each.realm, "kind": each.kind, "id": each.id, "what": each.what, "fields": each.fields}
            for each in differences
        ],
    }


def _lines(moment: datetime, count: int, realms: list[Realm], differences: list[Difference]) -> Iterator[str]:
    yield f"{moment.astimezone(UTC).strftime('%Y-%m-%d %H:%M:%S')} UTC, after {plural(count, 'event')}"
    for realm in realms:
        yield from _realm(realm)
    for each in differences:
        fields = f": {', '.join(each.fields)}" if each.fields else ""
        yield f"BAD: {each.kind} {each.id} of {each.realm} is {each.what}{fields}"
    if differences:
        yield "the log does not make the state that the database has: somebody else wrote it, or it is a bug"
    else:
        yield "good: the log makes the state that the database has now"


def _realm(realm: Realm) -> Iterator[str]:
    cluster, infra_env, hosts = realm.cluster, realm.infra_env, plural(len(realm.hosts), "host")
    if cluster is not None:
        yield f"cluster {cluster.name} ({cluster.id}): {cluster.status}, {hosts}"
    if infra_env is not None:
        yield f"infra-env {infra_env.name} ({infra_env.id}): {infra_env.type}, {hosts} in its pool"
    for host in sorted(realm.hosts.values(), key=lambda each: each.number):
        yield f"  {_host(host)}"


def _host(host: Host) -> str:
    stage = f", {host.progress.current_stage}" if host.progress.current_stage else ""
    return f"host {host.requested_hostname or host.id}: {host.role}, {host.status}{stage}"
