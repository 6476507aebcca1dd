# SPDX-License-Identifier: Apache-2.0
"""A medium that is being made in a site's directory: its secrets are made once, and nothing is lost."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from muster import __version__
from muster.config.kinds import LAB_FILE
from muster.config.state import STATE_FILE, Record, State, load_state, save_state
from muster.errors import UserError
from muster.files import back_up, lock_folder, remove_file, remove_leftovers, save_file
from muster.image.draft import DRAFT_NAME
from muster.image.kept import find_secrets, load_secrets
from muster.image.manner import Manner
from muster.image.secrets import SiteSecrets, check_spec, dump_secrets, make_secrets, renew_tokens
from muster.model.pki import KeySpec
from muster.model.site import Site
from muster.signature import load_signing_key

_logger: Final = logging.getLogger(__name__)


@dataclass
class Making:
    """What is known of a medium while it is made."""

    directory: Path
    name: str
    manner: Manner
    state: State
    inputs: Mapping[str, str] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)
    """Why it is made anew."""
    written: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    """All files that belong to the medium, written now or before."""
    backups: list[str] = field(default_factory=list)
    former: Record | None = None

    def path(self, name: str) -> Path:
        """Where a file goes."""
        return self.directory / name

    def settle_secrets(self, spec: KeySpec) -> SiteSecrets:
        """The secrets that are named, or kept, or new ones."""
        given = load_secrets(self.manner.secrets_of) if self.manner.secrets_of is not None else None
        kept = find_secrets(self.state, self.directory)
        if kept is not None and given is not None:
            given = renew_tokens(given, max(kept.tokens_issued, given.tokens_issued))
            kept = renew_tokens(kept, given.tokens_issued)
        if kept is not None and given is not None and dump_secrets(kept) != dump_secrets(given):
            raise UserError(
                f"{self.directory} has secrets of its own, other than those of {self.manner.secrets_of}",
                hint=f"leave --secrets out, or move {self.path(STATE_FILE)} away: it becomes another cluster",
            )
        secrets = given or kept or make_secrets(os.urandom, datetime.now(UTC), spec)
        check_spec(secrets, spec, str(self.manner.secrets_of or self.directory))
        return secrets

    def renew_tokens(self, secrets: SiteSecrets, valid_for: timedelta) -> SiteSecrets:
        """The secrets with tokens that hosts can still use for a while."""
        now = datetime.now(UTC)
        if secrets.tokens_issued + valid_for - now > min(timedelta(days=1), valid_for / 2):
            return secrets
        _logger.info("the tokens made at %s end too soon; new ones are made", secrets.tokens_issued)
        return renew_tokens(secrets, now)

    def is_current(self, inputs: Mapping[str, str]) -> bool:
        """Whether the medium is there, made from exactly these inputs; else `changes` says what differs."""
        self.inputs = inputs
        record = self.state.media.get(self.name)
        self.changes = list(record.changes(self.directory, inputs)) if record else []
        return record is not None and not self.changes

    def begin(self, secrets: SiteSecrets | None, names: Sequence[str]) -> None:
        """Refuse to replace files that are not ours (with force they get another name), and note the rest.

        The secrets are kept before anything is made of them: a medium without them could not be made again.
        """
        if self.manner.sign_key is not None:
            load_signing_key(self.manner.sign_key)
        folder = next((name for name in names if self.path(name).is_dir()), None)
        if folder is not None:
            raise UserError(
                f"{self.path(folder)} is a directory, and a file has to go there", hint="move it away"
            )
        foreign = [name for name in names if self.path(name).exists() and not self._is_ours(name)]
        if foreign and not self.manner.force:
            raise UserError(
                f"not written by Muster, or changed since: {', '.join(foreign)}",
                hint="move them away, or replace them with --force (a backup is kept)",
            )
        self.backups = [str(back_up(self.path(name))) for name in foreign]
        if secrets is not None:
            self.state = replace(self.state, secrets=dump_secrets(secrets))
        remove_leftovers(self.directory, (DRAFT_NAME, *names))
        self.former = self.state.media.get(self.name)
        older = self.former.stamps if self.former else {}
        self.state = self.state.with_medium(self.name, Record.unfinished((*names, *older)))
        save_state(self.directory, self.state)

    def _is_ours(self, name: str) -> bool:
        """Images are products, also in a copy of the directory; a login that was changed is somebody's."""
        records = [record for record in self.state.media.values() if name in record.stamps]
        if not name.startswith("auth/"):
            return bool(records)
        return any(not record.has_changed(self.directory, name) for record in records)

    def save(self, name: str, data: bytes, *, mode: int = 0o600) -> None:
        """Write a small file, if it is not there as it should be."""
        self.names.append(name)
        if not _holds(self.path(name), data):
            save_file(self.path(name), data, mode=mode)
            self.written.append(name)

    def note_image(self, name: str) -> None:
        """An image was written."""
        self.names.append(name)
        self.written.append(name)

    def finish(self) -> None:
        """Remember what was made from what. What belonged to the medium before, and does no more, goes."""
        former = self.former or Record({}, {})
        for name in former.stamps.keys() - set(self.names):
            if not former.has_changed(self.directory, name):
                remove_file(self.path(name))
        record = Record.of(self.directory, self.inputs, self.names)
        self.state = self.state.with_medium(self.name, record)
        save_state(self.directory, self.state)
        _logger.debug("written: %s; because: %s; backups: %s", self.written, self.changes, self.backups)


@contextmanager
def start_making(directory: Path, name: str, manner: Manner) -> Iterator[Making]:
    """Make a medium in a directory, which belongs to this run until it is done."""
    with lock_folder(directory):
        yield Making(directory, name, manner, load_state(directory))


def digest_inputs(site: Site, secrets: SiteSecrets | None, options: Mapping[str, str]) -> dict[str, str]:
    """Digests of all that decides the bytes of a medium, by a name for people."""
    texts = {
        **{source.name: source.text for source in site.sources if source.name != LAB_FILE},
        "the release image": site.environment.release_image,
        "the secrets": json.dumps(dump_secrets(secrets), sort_keys=True) if secrets else "",
        "the version of Muster": __version__,
        **options,
    }
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}


def _holds(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() == data
    except OSError:
        return False
