# SPDX-License-Identifier: Apache-2.0
"""What a bundle of a host has besides logs: who the host is, its inventory, and the service's log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from muster.agent.identity import find_identity
from muster.agent.inventory.collect import collect
from muster.agent.medium import find_medium_trouble
from muster.errors import MusterError
from muster.release.off_loop import off_loop
from muster.support.archive import as_file, unpack
from muster.support.collecting import Collection, Part
from muster.support.room import Kept
from muster.support.secrets import clean_json, clean_text

if TYPE_CHECKING:
    from muster.service.realm import Realm
    from muster.service.store.looking import Look

_INVENTORY_S: Final = 30.0
_SERVICE_S: Final = 60.0
_MOST_EVENTS: Final = 20_000


def parts_beside(data: Path) -> Iterator[Part]:
    """Parts that need more than files and programs; the service's log is at ``data``, if it is here."""
    yield Part("machine/identity.json", _identity)
    yield Part("inventory.json", _inventory, _INVENTORY_S)
    yield Part("service", partial(_service, data=data), _SERVICE_S)


async def _identity(to: Collection) -> Kept:
    body = {"medium": await find_medium_trouble(to.machine) or "can be read, or is not needed"}
    try:
        found = find_identity(to.machine)
        body |= {"id": found.id, "source": found.source}
    except MusterError as error:
        body["trouble"] = error.message
    return await to.keep_text("machine/identity.json", json.dumps(body), clean_json)


async def _inventory(to: Collection) -> Kept:
    found = await collect(to.machine)
    text = msgspec.json.encode(found.inventory).decode()
    kept = await to.keep_text("inventory.json", text, clean_json)
    missed = tuple((f"inventory.json: {each.collector}", each.what) for each in found.troubles)
    return Kept(missed=(*kept.missed, *missed))


async def _service(to: Collection, data: Path) -> Kept:
    """The log and the state of the service, read beside it: it may run, or be dead."""
    place = to.machine.root / data.relative_to("/") if data.is_absolute() else data
    return await off_loop(keep_service, to, place) if place.is_dir() else Kept()


def keep_service(to: Collection, data: Path) -> Kept:
    """What a service in a directory knows, in the form in which its interface shows it."""
    from muster.service.store.looking import look_at

    try:
        with closing(look_at(data)) as store:
            realms = list(store.load())
            missed = _keep_events(to, store, realms)
            for realm in realms:
                missed += _keep_realm(to, store, realm, data)
    except MusterError as error:
        return Kept(missed=(("service", f"{error.message}; {error.hint}"),))
    return Kept(missed=tuple(missed))


def _keep_events(to: Collection, store: Look, realms: list[Realm]) -> list[tuple[str, str]]:
    from muster.cli.events_list import body_of, line_of
    from muster.service.store.port import Wanted

    told = store.told(Wanted())[-_MOST_EVENTS:]
    by_id = {realm.id: realm for realm in realms}
    bodies = (body_of(each, by_id.get(each.realm)) for each in told)
    lines = (clean_text(f"{line_of(each)}\n", to.secrets) for each in told)
    return [
        *to.write("service/events.txt", lines).missed,
        *to.write_lines("service/events.jsonl", bodies).missed,
    ]


def _keep_realm(to: Collection, store: Look, realm: Realm, data: Path) -> list[tuple[str, str]]:
    from muster.service.api.views.clusters import show_cluster
    from muster.service.log_archives import FOLDER, FileArchives
    from muster.service.validations.registry import texts
    from muster.service.why import why

    if realm.cluster is None:
        return []
    reasons = why(realm.cluster, realm.hosts, datetime.now(UTC), texts())
    shown = show_cluster(realm.cluster, realm.hosts.values())
    missed: list[tuple[str, str]] = []
    for name, body in (("why", reasons), ("cluster", shown)):
        text = clean_json(msgspec.json.encode(body).decode(), to.secrets)
        missed += to.write(f"service/{name}-{realm.id}.json", (text,)).missed
    logs = FileArchives(data / FOLDER, store)
    for owner in sorted(logs.owners(realm.id)):
        archive = logs.find(realm.id, owner)
        if archive is not None and "/" not in owner:
            target = to.folder / "service/logs" / owner
            missed += unpack(as_file(archive.pieces()), target, to.clean, to.room).missed
    return missed
