# SPDX-License-Identifier: Apache-2.0
"""What a lab has recorded of its machines, for a bundle: serial consoles, reports, the lab's own log."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from muster.lab.evidence import keep_evidence
from muster.lab.store import choose_lab, labs_folder
from muster.release.off_loop import off_loop
from muster.support.copying import FolderCopy
from muster.support.room import Kept
from muster.support.sink import Sink

_PATIENCE_S: Final = 120.0


async def keep_lab(to: Sink, *, name: str) -> Kept:
    """Copy what a lab knows, without secrets; what is no text is left out."""
    return await off_loop(_keep, to, name)


def _keep(to: Sink, name: str) -> Kept:
    end = time.monotonic() + _PATIENCE_S
    with TemporaryDirectory(prefix="muster-lab-") as folder:
        place = keep_evidence(choose_lab(labs_folder(), name).folder, Path(folder) / "lab")
        copy = FolderCopy(place.parent, to.folder.parent, to.clean, to.room)
        return copy.keep("lab", lambda: time.monotonic() > end)
