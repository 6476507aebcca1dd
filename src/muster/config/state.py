# SPDX-License-Identifier: Apache-2.0
"""What Muster remembers about a site's directory: one file, readable by its owner alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from muster.errors import UserError, cannot
from muster.files import back_up, save_file

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

    def changed(self, directory: Path, files: Mapping[str, bytes]) -> list[str]:
        """The files that are not on disk as they should be."""
        return [name for name, data in files.items() if _hash_of(directory / name) != _hash(data)]

    def back_up(self, directory: Path, names: Iterable[str]) -> list[str]:
        """Keep copies of files that are about to be replaced."""
        return [str(back_up(directory / name).relative_to(directory)) for name in names]

    def with_outputs(self, files: Mapping[str, bytes]) -> State:
        """The state after these files were written."""
        return replace(self, outputs={**self.outputs, **{name: _hash(data) for name, data in files.items()}})


def load_state(directory: Path) -> State:
    """The state of a directory; empty when there is none yet."""
    path = directory / STATE_FILE
    try:
        body = json.loads(path.read_bytes())
    except FileNotFoundError:
        return State()
    except OSError as error:
        raise cannot("read", path, error) from error
    except ValueError:
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
    except FileNotFoundError:
        return None
    except OSError as error:
        raise cannot("read", path, error) from error
