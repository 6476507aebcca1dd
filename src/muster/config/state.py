# SPDX-License-Identifier: Apache-2.0
"""What Muster remembers about a site's directory: one file, readable by its owner alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from muster.config.document.folder import Directory, Folder, Memory, NotAFile, TooLarge
from muster.errors import UserError, cannot
from muster.files import save_file

STATE_FILE: Final = ".muster_state.json"
_VERSION: Final = 1


@dataclass(frozen=True)
class State:
    """The files that Muster wrote, by name, with the hash of what it wrote."""

    outputs: Mapping[str, str] = field(default_factory=dict)

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
    outputs = body.get("outputs") if isinstance(body, dict) and body.get("version") == _VERSION else None
    if not isinstance(outputs, dict):
        raise UserError(
            f"{path} was not written by this version of Muster, or was damaged",
            hint="move it away; Muster then treats existing outputs as not its own",
        )
    return State({str(name): str(digest) for name, digest in outputs.items()})


def save_state(directory: Path, state: State) -> None:
    """Remember."""
    body = {"version": _VERSION, "outputs": dict(sorted(state.outputs.items()))}
    save_file(directory / STATE_FILE, json.dumps(body, indent=2).encode() + b"\n", mode=0o600)


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _hash_of(path: Path) -> str | None:
    try:
        return _hash(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise cannot("read", path, error) from error
