# SPDX-License-Identifier: Apache-2.0
"""`muster events list`: what happened, as people are told it."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import click

from muster.cli import options
from muster.cli.events import Source, find_realm, source, warn_of_loss
from muster.errors import UserError
from muster.frozen import dataclass
from muster.redact import printable

if TYPE_CHECKING:
    from muster.service.realm import Realm
    from muster.service.store.looking import Look
    from muster.service.store.port import Logged

_SEVERITIES: Final = ("info", "warning", "error", "critical")


@dataclass(frozen=True)
class _Wish:
    """Which events are asked for."""

    realm: str
    hosts: frozenset[str]
    severities: frozenset[str]
    since: datetime | None


@click.command(
    "list",
    epilog=options.examples(
        "muster events list --cluster alpha",
        "muster events list --severity warning --since 12h",
        "muster events list --database postgresql://muster@db.example.com/muster --host master-0 -o json",
    ),
)
@source
@click.option("--host", metavar="NAME|ID", default="", help="Only this host.")
@click.option("--severity", type=click.Choice(_SEVERITIES), help="Only events as bad as this, or worse.")
@click.option("--since", metavar="TIME", default="", help="Only later ones: 2026-03-01T12:00:00Z, or 2h.")
@options.log_level
@options.output
def list_(source: Source, log_level: str | None, output_format: str, **which: Any) -> None:
    """List what happened, as people are told it, in the order in which it was written down.

    The JSON is a list of events as the service's interface has them.
    """
    as_json = options.begin_without_site(log_level, output_format)
    since = _parse(which["since"])
    from muster.service.store.looking import look_at

    with closing(look_at(source.where)) as store:
        warn_of_loss(store)
        realm = find_realm(store, source.cluster)
        wish = _Wish(
            realm=realm,
            hosts=_find_hosts(store, realm, which["host"]),
            severities=frozenset(_SEVERITIES[_SEVERITIES.index(which["severity"] or "info") :]),
            since=since,
        )
        found = _pick(store, wish)
        realms = {each.id: each for each in store.load()}
    if as_json:
        bodies = [body_of(each, realms.get(each.realm)) for each in found]
        click.echo(json.dumps(bodies, indent=2, ensure_ascii=False))
        return
    for each in found:
        of_host = each.event.kind == "host" and not realm  # The others have their own names in their words.
        click.echo(line_of(each, _name(each.realm, realms.get(each.realm)) if of_host else ""))


def _parse(since: str) -> datetime | None:
    from muster.units import parse_time

    return parse_time(since, datetime.now(UTC)) if since else None


def _pick(store: Look, wish: _Wish) -> list[Logged]:
    from muster.service.store.port import Wanted

    wanted = Wanted(
        realms=frozenset({wish.realm}) if wish.realm else None,
        host_ids=wish.hosts,
        cluster_level=not wish.hosts,
        severities=wish.severities,
    )
    since = wish.since
    return [each for each in store.told(wanted) if since is None or each.event.at >= since]


def _find_hosts(store: Look, realm: str, wanted: str) -> frozenset[str]:
    """The hosts of that name or id; one that is gone has its id alone."""
    if not wanted:
        return frozenset()
    hosts = [host for each in store.load(realm or None) for host in each.hosts.values()]
    found = {host.id for host in hosts if wanted in (host.id, host.requested_hostname)}
    if not found and len(wanted) < 36:
        names = sorted(host.requested_hostname or host.id for host in hosts)
        shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
        raise UserError(
            f"there is no host {wanted}",
            hint=f"there are: {shown}" if names else "there are none; one that is gone is named by its id",
        )
    return frozenset(found or {wanted})


def _name(id: str, realm: Realm | None) -> str:
    subject = (realm.cluster or realm.infra_env) if realm is not None else None
    return subject.name if subject is not None else id


def line_of(each: Logged, where: str = "") -> str:
    """An event for people."""
    event = each.event
    time = event.at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
    place = f"{where}: " if where else ""
    by = f"  [{event.actor}]" if event.actor and event.actor != f"host:{event.id}" else ""
    return printable(f"{time}  {event.severity:<8}  {place}{event.message}{by}")


def body_of(each: Logged, realm: Realm | None) -> dict[str, Any]:
    """An event for programs."""
    import msgspec

    from muster.service.api.views.files import show_event

    is_pool = realm is not None and realm.infra_env is not None
    cluster = each.realm if each.event.kind == "host" and not is_pool else None
    infra_env = each.realm if is_pool else None
    shown = show_event(each.event, cluster_id=cluster, infra_env_id=infra_env)
    return {"sequence": each.sequence, **msgspec.to_builtins(shown)}
