# SPDX-License-Identifier: Apache-2.0
"""What the installer wrote down for the programs of the node that it made."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from muster.errors import MusterError

T = TypeVar("T", bound=msgspec.Struct)


def load_noted(root: Path, name: str, kind: type[T], what: str) -> T:
    """The content of a file; ``what`` it is to say, for whoever has to mend it."""
    path = root / name.lstrip("/")
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.DecodeError) as error:
        raise MusterError(f"{path} does not say {what}: {error}", hint="the installer writes it") from error
