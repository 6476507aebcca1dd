# SPDX-License-Identifier: Apache-2.0
"""Realms, events and drafts: state is a fold of events, and a decision is a draft of the next ones.

    draft = Draft(realm, now)
    draft.change(host, requested_hostname="a")
    draft.events            # what is to be written; the realm itself is as it was

A draft shows what it changed on top of the realm, and touches the realm only when it is applied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias, cast

import msgspec

from muster.service.parts import PARTS, changed_parts
from muster.service.state import TYPES, Cluster, Host, InfraEnv, Kind, State, Subject, kind_of

Severity: TypeAlias = Literal["info", "warning", "error", "critical"]
MOST_MESSAGE: Final = 4096
"""Characters of a message; of a longer one the rest is left out."""
_CUT: Final = " … (cut)"
Key: TypeAlias = tuple[Kind, str]


class Event(State, frozen=True, kw_only=True):
    """One accepted change, and what people are told of it; without a name they are told nothing."""

    at: datetime
    kind: Kind
    id: str
    values: dict[str, Any] = msgspec.field(default_factory=dict)
    """The fields that changed, with their new values; all that are not default for a new subject."""
    born: bool = False
    gone: bool = False
    name: str = ""
    severity: Severity = "info"
    category: Literal["user", "metrics"] = "user"
    message: str = ""
    props: dict[str, Any] = msgspec.field(default_factory=dict)
    request_id: str = ""
    actor: str = ""
    """Who sent the request: `user:…`, `host:…`, and so on; empty for what the service does by itself."""


class Cause(msgspec.Struct, frozen=True):
    """The request that a change comes from, and who sent it."""

    request_id: str = ""
    actor: str = ""


NO_CAUSE = Cause()


@dataclass
class Realm:
    """What is decided about as a whole. Only applied drafts and events change it."""

    id: str
    version: int = 0
    cluster: Cluster | None = None
    infra_env: InfraEnv | None = None
    hosts: dict[str, Host] = field(default_factory=dict)
    cache: dict[str, Any] = field(default_factory=dict)
    """What reactions keep to be quick; it can be computed again from the rest at any time."""

    def find(self, kind: Kind, id: str) -> Subject | None:
        """A subject by its kind and id."""
        if kind == "host":
            return self.hosts.get(id)
        found: Subject | None = self.cluster if kind == "cluster" else self.infra_env
        return found if found is not None and found.id == id else None

    def put(self, kind: Kind, id: str, subject: Subject | None) -> None:
        """Store a subject, or forget it."""
        if isinstance(subject, Host):
            self.hosts[id] = subject
        elif kind == "host":
            self.hosts.pop(id, None)
        elif kind == "cluster":
            assert subject is None or isinstance(subject, Cluster)
            self.cluster = subject
        else:
            assert subject is None or isinstance(subject, InfraEnv)
            self.infra_env = subject

    def subjects(self) -> Iterator[Subject]:
        """All that it holds."""
        if self.cluster is not None:
            yield self.cluster
        if self.infra_env is not None:
            yield self.infra_env
        yield from self.hosts.values()


def _default(each: msgspec.structs.FieldInfo) -> Any:
    if each.default is not msgspec.NODEFAULT:
        return each.default
    return each.default_factory() if each.default_factory is not msgspec.NODEFAULT else msgspec.NODEFAULT


_FIELDS = {kind: {each.name: each.type for each in msgspec.structs.fields(of)} for kind, of in TYPES.items()}
_DEFAULTS = {
    kind: {each.name: _default(each) for each in msgspec.structs.fields(of)} for kind, of in TYPES.items()
}


def read_event(kind: Kind, event: Event) -> Event:
    """An event as it came from a store: its values get the types of their fields back.

    A field that this version does not know is left out: who goes back to an older version loses only what
    that one never had.
    """
    types = _FIELDS[kind]
    values = {
        name: msgspec.convert(value, types[name]) for name, value in event.values.items() if name in types
    }
    return msgspec.structs.replace(event, values=values)


def fold(realm: Realm, event: Event) -> None:
    """The realm after an event."""
    if event.gone:
        realm.put(event.kind, event.id, None)
    elif event.born:
        realm.put(event.kind, event.id, TYPES[event.kind](**event.values))
    elif event.values:
        before = realm.find(event.kind, event.id)
        assert before is not None, f"{event.kind} {event.id} changes before it is born"
        realm.put(event.kind, event.id, msgspec.structs.replace(before, **event.values))


class _Hosts(Mapping[str, Host]):
    """The hosts of a realm with a draft's changes on top."""

    def __init__(self, below: dict[str, Host], above: dict[str, Host | None]) -> None:
        self._below, self._above = below, above

    def __getitem__(self, id: str) -> Host:
        host = self._above[id] if id in self._above else self._below[id]
        if host is None:
            raise KeyError(id)
        return host

    def get(self, id: str, default: Any = None) -> Any:
        """Quicker than to fail and to be caught."""
        host = self._above[id] if id in self._above else self._below.get(id)
        return default if host is None else host

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole())

    def __len__(self) -> int:
        return len(self._whole())

    def values(self) -> Any:
        """Quicker than looking each one up."""
        return self._whole().values()

    def items(self) -> Any:
        """Quicker than looking each one up."""
        return self._whole().items()

    def _whole(self) -> Mapping[str, Host]:
        """All of them as they are at this moment."""
        if not self._above:
            return self._below
        whole = {**self._below, **self._above}
        for id, host in self._above.items():
            if host is None:
                del whole[id]
        return cast("dict[str, Host]", whole)


class Draft:
    """The next events of a realm, and how it looks after them."""

    def __init__(self, realm: Realm, now: datetime, cause: Cause = NO_CAUSE) -> None:
        self.realm, self.now = realm, now
        self._cause = cause
        self.events: list[Event] = []
        self.changes: dict[Key, set[str]] = {}
        """Which fields changed since somebody last took note; all of them when a subject is new or gone.

        Of an inventory that changed its parts that did are among them, too.
        """
        self._above: dict[str, Host | None] = {}
        self._cluster, self._infra_env = realm.cluster, realm.infra_env
        self.hosts: Mapping[str, Host] = _Hosts(realm.hosts, self._above)
        self.documents: dict[tuple[str, str], bytes | None] = {}
        """Files of the realm by subject and name: too large for events, and read only when asked for."""

    @property
    def cluster(self) -> Cluster:
        """The realm's cluster; ask only where there is one."""
        assert self._cluster is not None
        return self._cluster

    @property
    def infra_env(self) -> InfraEnv:
        """The realm's infra-env; ask only where there is one."""
        assert self._infra_env is not None
        return self._infra_env

    @property
    def is_gone(self) -> bool:
        """Whether neither cluster nor infra-env is left: nothing follows from anything any more."""
        return self._cluster is None and self._infra_env is None

    @property
    def is_pool(self) -> bool:
        """Whether its hosts wait for a cluster."""
        return self._cluster is None

    def change(self, subject: Subject, /, **values: Any) -> None:
        """Change fields; what is the same already is no change."""
        kind = kind_of(subject)
        present: Subject = (
            self.hosts[subject.id]
            if kind == "host"
            else (self.cluster if kind == "cluster" else self.infra_env)
        )
        new = {name: value for name, value in values.items() if getattr(present, name) != value}
        if new:
            self._record(kind, subject.id, msgspec.structs.replace(present, **new), values=new)
            if "inventory" in new and isinstance(present, Host):
                self.changes[kind, subject.id] |= changed_parts(present.inventory, new["inventory"])

    def tell(
        self, subject: Subject, name: str, message: str, /, *, severity: Severity = "info", **props: Any
    ) -> None:
        """Something that people are told, about a subject."""
        if len(message) > MOST_MESSAGE:
            message = message[: MOST_MESSAGE - len(_CUT)] + _CUT
        self._event(kind_of(subject), subject.id, name=name, message=message, severity=severity, props=props)

    def add(self, subject: Subject) -> None:
        """A new subject."""
        kind = kind_of(subject)
        values = {
            name: value
            for name, default in _DEFAULTS[kind].items()
            if (value := getattr(subject, name)) != default
        }
        self._record(kind, subject.id, subject, values=values, born=True)

    def remove(self, subject: Subject) -> None:
        """A subject that is no more."""
        self._record(kind_of(subject), subject.id, None, gone=True)

    def _record(self, kind: Kind, id: str, after: Subject | None, **parts: Any) -> None:
        self._event(kind, id, **parts)
        if kind == "host":
            assert after is None or isinstance(after, Host)
            self._above[id] = after
        elif kind == "cluster":
            assert after is None or isinstance(after, Cluster)
            self._cluster = after
        else:
            assert after is None or isinstance(after, InfraEnv)
            self._infra_env = after
        changed = self.changes.setdefault((kind, id), set())
        if after is None or parts.get("born"):
            changed.update(_FIELDS[kind], PARTS)
        else:
            changed.update(parts["values"])

    def _event(self, kind: Kind, id: str, **parts: Any) -> None:
        last = self.events[-1] if self.events else None
        if last is not None and (last.kind, last.id) == (kind, id) and not (parts.get("born") or last.gone):
            merged = _merge(last, parts)
            if merged is not None:
                self.events[-1] = merged
                return
        cause = self._cause
        self.events.append(
            Event(at=self.now, kind=kind, id=id, request_id=cause.request_id, actor=cause.actor, **parts)
        )

    def take_changes(self) -> dict[Key, set[str]]:
        """What changed since this was last asked."""
        changes, self.changes = self.changes, {}
        return changes

    def touched(self) -> dict[Key, Subject | None]:
        """Every subject that changed, as it is now."""
        keys = dict.fromkeys((each.kind, each.id) for each in self.events if each.values or each.gone)
        found: dict[Key, Subject | None] = {}
        for kind, id in keys:
            if kind == "host":
                found[kind, id] = self.hosts.get(id)
            else:
                found[kind, id] = self._cluster if kind == "cluster" else self._infra_env
        return found

    def apply(self) -> None:
        """Make the realm what the draft shows."""
        self.realm.cluster, self.realm.infra_env = self._cluster, self._infra_env
        for id, host in self._above.items():
            self.realm.put("host", id, host)


def _merge(last: Event, parts: dict[str, Any]) -> Event | None:
    """Two changes of one subject in a row are one, unless each of them tells something."""
    if parts.get("gone") or (last.name and parts.get("name")):
        return None
    values = {**last.values, **parts.get("values", {})}
    told = {name: value for name, value in parts.items() if name != "values"}
    return msgspec.structs.replace(last, values=values, **told)
