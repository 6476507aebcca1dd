# SPDX-License-Identifier: Apache-2.0
"""The file that a bug leaves behind: enough to find it, nothing that is secret."""

from __future__ import annotations

import os
import platform
import tempfile
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from muster.cli.build import build_words
from muster.redact import redact, redact_arguments


def save_crash_file(error: Exception, arguments: Sequence[str], directory: Path | None) -> Path:
    """Write the report into the site's directory, or where temporary files go when that fails."""
    now = datetime.now(UTC)
    text = render_crash(error, arguments, now)
    name = f"muster-crash-{now:%Y%m%d-%H%M%S}-{os.getpid()}.txt"
    for place in (directory, Path(tempfile.gettempdir())):
        if place is not None:
            try:
                return _write(place / name, text)
            except OSError:
                continue
    return Path("(nowhere: no directory could be written)")


def render_crash(error: Exception, arguments: Sequence[str], now: datetime) -> str:
    """What happened, with what, and where in our code."""
    head = [
        f"muster {build_words()}, Python {platform.python_version()}, {platform.platform()}",
        f"time: {now.isoformat(timespec='seconds')}",
        f"command: muster {' '.join(redact_arguments(arguments))}",
        "",
    ]
    frames = traceback.format_exception(error)
    return "\n".join(head) + redact("".join(frames))


def _write(path: Path, text: str) -> Path:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    return path
