# SPDX-License-Identifier: Apache-2.0
"""Files that hold a key: made once, readable by nobody else, and never half-written."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

from muster.errors import UserError, cannot
from muster.files import save_file, save_new_file
from muster.service.file_modes import check_owner

_OTHERS: Final = stat.S_IROTH | stat.S_IWOTH
"""The group may read: that is how a cluster hands secrets to a container."""


def load_or_make(path: Path, make: Callable[[], bytes]) -> bytes:
    """What a key file holds. The first who asks makes it; two who ask at once get the same."""
    found = load_key_file(path)
    if found is not None:
        return found
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise cannot("make", path.parent, error) from error
    made = make()
    if save_new_file(path, made, mode=0o600):
        return made
    other = load_key_file(path)
    return made if other is None else other


def load_key_file(path: Path) -> bytes | None:
    """What a key file holds, or None when there is none. One that everybody can read is not a secret."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            data = file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise cannot("read", path, error) from error
    check_owner(path, status)
    mode = stat.S_IMODE(status.st_mode)
    if mode & _OTHERS:
        raise UserError(
            f"the key in {path} can be read by everybody (mode {mode:04o})",
            hint=f"if nobody has seen it: chmod 600 {path}; else remove it, and a new one is made",
        )
    return data


def replace_key_file(path: Path, data: bytes) -> None:
    """Put new keys in the place of the old ones."""
    save_file(path, data, mode=0o600)
