# SPDX-License-Identifier: Apache-2.0
"""Changes that are written together, as what has to be written: each row once, in its last state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from muster.frozen import dataclass
from muster.service.realm import Event
from muster.service.state import Kind, Subject
from muster.service.store.port import Change, ConflictError

Rows: TypeAlias = dict[tuple[str, Kind, str], Subject | None]
Documents: TypeAlias = dict[tuple[str, str, str], bytes | None]


@dataclass(frozen=True)
class Batch:
    """What has to be written, all or nothing."""

    before: dict[str, int]
    """The version that each realm has to have; 0: it may not be there."""
    after: dict[str, int]
    events: list[tuple[str, int, Event]]
    """With their realms and versions, in order."""
    rows: Rows
    """By realm, kind and id; none: it is gone."""
    documents: Documents
    """By realm, subject and name; none: it is gone."""


def gather(changes: Sequence[Change]) -> Batch:
    """Changes as a batch; those of one realm have to follow each other."""
    batch = Batch({}, {}, [], {}, {})
    for change in changes:
        realm = change.realm
        before = batch.after.get(realm)
        if before is None:
            batch.before[realm] = change.version - 1
        elif before != change.version - 1:
            raise ConflictError(realm)
        batch.after[realm] = change.version
        batch.events.extend((realm, change.version, event) for event in change.events)
        batch.rows.update({(realm, kind, id): row for (kind, id), row in change.rows.items()})
        batch.documents.update({(realm, of, name): body for (of, name), body in change.documents.items()})
    return batch
