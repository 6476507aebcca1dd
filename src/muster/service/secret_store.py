# SPDX-License-Identifier: Apache-2.0
"""Opens the store of a service together with the key that its secrets are sealed with.

When the key is missing, or another one, the start stops: a new key in its place would hide that all secrets
in the store are lost. Going on without them has to be asked for.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import field
from pathlib import Path
from typing import Final

from muster.certificates.keys import Random
from muster.errors import UserError
from muster.frozen import dataclass
from muster.service.auth.keys import KeyRing
from muster.service.auth.secrets import KEY_FILE, Safe, find_key, load_safe
from muster.service.decisions.manifests import document_name
from muster.service.file_modes import protect_database
from muster.service.realm import Draft, Realm
from muster.service.state import Cluster, InfraEnv, Subject
from muster.service.states.cluster import preparation_ended
from muster.service.states.words import name_of
from muster.service.store.claim import Claim
from muster.service.store.open import claim_store, find_database, open_store
from muster.service.store.port import Store
from muster.service.store.sealed import SealedStore, find_unreadable, is_all_sealed, noted_keys

_log: Final = logging.getLogger("muster.service")
_MOST_NAMES: Final = 8
_TOKENS: Final = "token-keys"
_AUTHORITY: Final = "authority-key"


@dataclass(frozen=True)
class Lost:
    """What is sealed with keys that are missing."""

    keys: frozenset[str] = frozenset()
    files: Mapping[str, list[tuple[str, str]]] = field(default_factory=dict)
    """By realm: subjects and names."""

    def __bool__(self) -> bool:
        return bool(self.keys or self.files)


@dataclass(frozen=True)
class SecretStore:
    """An open store, its key, and what cannot be read any more."""

    store: SealedStore
    safe: Safe
    claim: Claim | None
    realms: tuple[Realm, ...]
    lost: Lost
    """Empty unless the secrets are to be discarded."""
    sealed: int
    """How many files an older Muster had written in clear."""


def open_secret_store(where: str | Path, keys: Path, random: Random, *, discard: bool = False) -> SecretStore:
    """Open the store of a service; UserError when secrets in it cannot be read with the key in a folder."""
    with ExitStack() as unless_done:
        claim = claim_store(where)
        if claim is not None:
            unless_done.callback(claim.release)
        if (database := find_database(where)) is not None:
            protect_database(database)
        inner = open_store(where)
        unless_done.callback(inner.close)
        realms = tuple(inner.load())
        safe, lost = _find_safe(inner, realms, keys, random, discard=discard)
        store = SealedStore(inner, safe)
        sealed = store.seal_all()
        if not lost:
            store.note_keys()
        if sealed:  # Their realms have new versions.
            realms = tuple(inner.load())
        unless_done.pop_all()
    return SecretStore(store, safe, claim, realms, lost, sealed)


def _find_safe(
    store: Store, realms: Iterable[Realm], keys: Path, random: Random, *, discard: bool
) -> tuple[Safe, Lost]:
    path = keys / KEY_FILE
    known = frozenset(load_safe(keys, random).keys) if path.exists() else frozenset()
    used = noted_keys(store) | {key for realm in realms for _, _, key in _sealed_fields(realm.subjects())}
    missing = used - known
    lost = Lost(missing, find_unreadable(store, known) if missing or not is_all_sealed(store) else {})
    losses = list(_losses(realms, lost))
    if losses and not discard:
        raise _key_is_lost(path, losses, is_there=bool(known))
    return load_safe(keys, random), lost if losses else Lost()


def _sealed_fields(subjects: Iterable[Subject]) -> Iterator[tuple[Subject, str, str]]:
    """Every sealed field with the id of its key."""
    for subject in subjects:
        for name in subject.__struct_fields__:
            value = getattr(subject, name)
            if isinstance(value, str) and (key := find_key(value)):
                yield subject, name, key


def _losses(realms: Iterable[Realm], lost: Lost) -> Iterator[str]:
    """What is lost, in words."""
    for realm in realms:
        for subject, name, key in _sealed_fields(realm.subjects()):
            if key in lost.keys:
                yield f"{name.replace('_', ' ')} of {_describe(subject)}"
        if files := lost.files.get(realm.id):
            owner = realm.cluster or realm.infra_env
            yield f"{len(files)} files of {realm.id if owner is None else _describe(owner)}"


def _describe(subject: Subject) -> str:
    if isinstance(subject, Cluster):
        return f"cluster {subject.name}"
    return f"infra-env {subject.name}" if isinstance(subject, InfraEnv) else f"host {name_of(subject)}"


def _key_is_lost(path: Path, losses: Sequence[str], *, is_there: bool) -> UserError:
    what = "does not hold the key" if is_there else "is missing: it held the key"
    return UserError(
        f"{path} {what} that secrets in the database are sealed with: {_first(losses)}",
        hint=f"restore {path} from a backup; to go on without these secrets: muster serve --discard-secrets",
    )


def find_trouble(opened: SecretStore, ring: KeyRing, authority: str) -> tuple[str, ...]:
    """What went wrong since the service ran last, for the log and for all who ask.

    `authority`: the id of the key that signs the service's own certificates; empty if it shows others.
    """
    store, found = opened.store, []
    if opened.sealed:
        _log.info("%d files with secrets that were in the database in clear are sealed now", opened.sealed)
    if store.lost:
        found.append(store.lost)
        _log.error(
            "%s; restore the database from a backup, or check all clusters and repeat what is missing;"
            " after an older copy was restored on purpose this is expected",
            store.lost,
        )
    noted = frozenset(store.note(_TOKENS).split())
    if noted and noted.isdisjoint(ring.own):
        text = (
            "the key for tokens is new: all logins, addresses of media and tokens of hosts from before are"
            " void; restore tokens.pem from a backup, or boot the hosts from a new medium"
        )
        found.append(text)
        _log.warning("%s", text)
    if noted != frozenset(ring.own):
        store.write_note(_TOKENS, " ".join(ring.own))
    known = store.note(_AUTHORITY)
    if known and authority and known != authority:
        text = (
            "the authority of the service's certificate is new: hosts and media from before do not trust it;"
            " restore authority.key from a backup, or boot the hosts from a new medium"
        )
        found.append(text)
        _log.warning("%s", text)
    if authority and known != authority:
        store.write_note(_AUTHORITY, authority)
    return tuple(found)


def tell_loss(draft: Draft, text: str) -> None:
    """Record in the log of events that the database lost commits."""
    about = draft.realm.cluster or draft.realm.infra_env
    if about is not None:
        draft.tell(about, "commits_lost", f"At the start of the service: {text}", severity="critical")


def discard_secrets(draft: Draft, lost: Lost) -> None:
    """Remove from a realm what cannot be read any more, and tell people what to set again."""
    subjects = [
        *draft.hosts.values(),
        *(each for each in (draft.realm.cluster, draft.realm.infra_env) if each),
    ]
    names: list[str] = []
    for subject, name, key in list(_sealed_fields(subjects)):
        if key in lost.keys:
            draft.change(subject, **{name: ""})
            names.append(f"{name.replace('_', ' ')} of {_describe(subject)}")
    discarded = [_first(names)] if names else []
    if files := lost.files.get(draft.realm.id, []):
        discarded.append(f"files {_first(_discard_files(draft, files))}")
    about = draft.realm.cluster or draft.realm.infra_env
    if discarded and about is not None:
        draft.tell(
            about,
            "secrets_discarded",
            f"The key that secrets were sealed with is lost. Discarded: {'; '.join(discarded)}."
            " Set the secrets again, and add the manifests again.",
            severity="warning",
        )


def _discard_files(draft: Draft, files: Sequence[tuple[str, str]]) -> list[str]:
    """Remove files from a realm; returns their names, manifests first: users have to add these again."""
    for each in files:
        draft.documents[each] = None
    found = sorted(name.removeprefix("file/") for _, name in files)
    if draft.realm.cluster is None:
        return found
    cluster, gone = draft.cluster, frozenset(files)
    manifests = {key for key in cluster.manifests if (cluster.id, document_name(key)) in gone}
    left = tuple(key for key in cluster.manifests if key not in manifests)
    draft.change(cluster, access_for="", access_taken=(), kubeconfig=False, manifests=left)
    if cluster.status == "preparing-for-installation":
        preparation_ended(draft, "the key of some files of the cluster is lost, and they were discarded")
    documents = {document_name(key) for key in manifests}
    return [
        *(f"manifest {key}" for key in sorted(manifests)),
        *(name for name in found if name not in documents),
    ]


def _first(names: Sequence[str]) -> str:
    """The first of some names, and how many there are besides."""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
