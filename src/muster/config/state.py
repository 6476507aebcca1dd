# SPDX-License-Identifier: Apache-2.0
"""What Muster remembers about a site's directory: one file, readable by its owner alone."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import Final

from muster.config.document.folder import Directory, Folder, Memory, NotAFile, TooLarge
from muster.errors import UserError, cannot
from muster.files import save_file
from muster.frozen import dataclass

STATE_FILE: Final = ".muster_state.json"
_VERSION: Final = 1
_UNFINISHED: Final = "unfinished"
_SMALL: Final = 1 << 20


@dataclass(frozen=True)
class Record:
    """What a medium was made from, and how its files looked when they were written."""

    inputs: Mapping[str, str]
    """Digests of everything that decides the medium's bytes, by a name for people."""
    stamps: Mapping[str, str]

    @classmethod
    def of(cls, directory: Path, inputs: Mapping[str, str], names: Iterable[str]) -> Record:
        """After the files were written."""
        return cls(inputs, {name: _stamp(directory / name) for name in names})

    @classmethod
    def unfinished(cls, names: Iterable[str]) -> Record:
        """Before the files are written: whatever a run that is cut off leaves of them is ours."""
        return cls({}, dict.fromkeys(names, _UNFINISHED))

    def has_changed(self, directory: Path, name: str) -> bool:
        """Whether somebody else changed a file."""
        return self.stamps[name] not in (_UNFINISHED, _stamp(directory / name))

    def changes(self, directory: Path, inputs: Mapping[str, str]) -> Iterator[str]:
        """Why the medium has to be made anew, for people; nothing when it is as it should be."""
        if _UNFINISHED in self.stamps.values():
            yield "the last run did not finish"
            return
        for name in sorted(self.inputs.keys() | inputs.keys()):
            if name not in inputs:
                yield f"{name} is gone"
            elif name not in self.inputs:
                yield f"{name} is new"
            elif self.inputs[name] != inputs[name]:
                yield f"{name} changed"
        for name, stamp in self.stamps.items():
            found = _stamp(directory / name)
            if not found:
                yield f"{name} is missing"
            elif found != stamp:
                yield f"{name} was changed since it was made"


@dataclass(frozen=True)
class State:
    """What Muster wrote, and the secrets that it made."""

    outputs: Mapping[str, str] = field(default_factory=dict)
    """Manifests, by name, with the hash of what was written."""
    secrets: Mapping[str, object] | None = field(default=None, repr=False)
    """Everything random of the site's media, in the form of muster.image.secrets."""
    media: Mapping[str, Record] = field(default_factory=dict)
    """Media, by name."""

    def is_foreign(self, directory: Path, name: str, data: bytes) -> bool:
        """Whether a file is there that is neither ours nor what we would write."""
        found = _hash_of(directory / name)
        return found is not None and found not in (self.outputs.get(name), _hash(data))

    def own(self, directory: Path) -> list[str]:
        """The files that are on disk as we wrote them."""
        return [name for name, digest in self.outputs.items() if _hash_of(directory / name) == digest]

    def with_outputs(self, files: Mapping[str, bytes]) -> State:
        """The state after these files were written, and no others."""
        return replace(self, outputs={name: _hash(data) for name, data in files.items()})

    def with_medium(self, name: str, record: Record) -> State:
        """The state after a medium was made."""
        return replace(self, media={**self.media, name: record})


def inputs_of(directory: Path) -> Folder:
    """The files of a directory that its user wrote.

    What Muster made from install-config.yaml follows it, and is no second description of the cluster. When
    install-config.yaml is gone, or a file was changed since, it speaks for itself.
    """
    folder = Directory(directory)
    if not (directory / "install-config.yaml").exists():
        return folder
    made = load_state(directory).own(directory)
    return Memory(dict.fromkeys(made), folder) if made else folder


def changed_files(directory: Path, files: Mapping[str, bytes]) -> list[str]:
    """The files that are not on disk as they should be."""
    return [name for name, data in files.items() if _hash_of(directory / name) != _hash(data)]


def load_state(directory: Path) -> State:
    """The state of a directory; empty when there is none yet."""
    path = directory / STATE_FILE
    try:
        body = json.loads(Directory(directory).read(STATE_FILE))
    except (FileNotFoundError, NotADirectoryError):
        return State()
    except (NotAFile, TooLarge):
        body = None
    except OSError as error:
        raise cannot("read", path, error) from error
    except (ValueError, RecursionError):
        body = None
    try:
        return _parse(body)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(
            f"{path} was not written by this version of Muster, or was damaged",
            hint="bring back a copy of it; without one, move it away: existing outputs are then not replaced,"
            " and media get new secrets",
        ) from error


def _parse(body: object) -> State:
    if not isinstance(body, dict) or body["version"] != _VERSION:
        raise ValueError("not a state of this version")
    secrets = body.get("secrets")
    if secrets is not None and not isinstance(secrets, dict):
        raise TypeError("secrets are a mapping")
    media = body.get("media", {}).items()
    return State(
        outputs=_by_file(body["outputs"]),
        secrets=secrets,
        media={name: Record(_texts(entry["inputs"]), _by_file(entry["stamps"])) for name, entry in media},
    )


def _texts(body: Mapping[object, object]) -> dict[str, str]:
    return {str(name): str(text) for name, text in body.items()}


def _by_file(body: Mapping[object, object]) -> dict[str, str]:
    """Texts by the name of a file, which has to be one that the system takes."""
    found = _texts(body)
    if any(b"\0" in os.fsencode(name) for name in found):
        raise ValueError("not the name of a file")
    return found


def save_state(directory: Path, state: State) -> None:
    """Remember."""
    save_file(directory / STATE_FILE, render_state(state), mode=0o600)


def render_state(state: State) -> bytes:
    """The state as it is kept. It holds secrets."""
    body: dict[str, object] = {"version": _VERSION, "outputs": dict(sorted(state.outputs.items()))}
    if state.secrets is not None:
        body["secrets"] = state.secrets
    if state.media:
        body["media"] = {name: asdict(record) for name, record in sorted(state.media.items())}
    # A line for each part: indented throughout it would take ten times as long, and nobody reads it.
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(part)}" for name, part in body.items())
    return f"{{\n{lines}\n}}\n".encode()


def _stamp(path: Path) -> str:
    """What tells a file from another one: the content of a small one, the look of a large one."""
    try:
        found = path.stat()
        if found.st_size <= _SMALL and path.is_file():
            return f"{found.st_size} {_hash(path.read_bytes())}"
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        raise cannot("read", path, error) from error
    return f"{found.st_size} {found.st_mtime_ns}"


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _hash_of(path: Path) -> str | None:
    try:
        return _hash(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise cannot("read", path, error) from error
