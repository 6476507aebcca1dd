# SPDX-License-Identifier: Apache-2.0
"""How a medium is made, besides what the site's files say."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from muster.frozen import dataclass


@dataclass(frozen=True)
class Manner:
    """What the flags of a command ask for."""

    secrets_of: Path | None = None
    sign_key: Path | None = None
    with_sha256: bool = False
    force: bool = False


PLAIN: Final = Manner()
