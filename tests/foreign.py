# SPDX-License-Identifier: Apache-2.0
"""Where `bin/setup --dev` keeps what belongs to others: coreos-installer, and images of its tests."""

from __future__ import annotations

import os
import re
from pathlib import Path

_SETUP = (Path(__file__).parent.parent / "bin/setup").read_text("utf-8")
_VERSION = re.findall(r"coreos_installer_version=(\S+)", _SETUP)[0]
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "muster"
_HOME = _CACHE / f"coreos-installer-{_VERSION}"
COREOS_INSTALLER = _HOME / "bin/coreos-installer"
LIVE_IMAGES = _HOME / "fixtures"
