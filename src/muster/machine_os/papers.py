# SPDX-License-Identifier: Apache-2.0
"""What a build is made of: every package with its version and hash, every result with its own."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from muster import __version__
from muster.machine_os.build import Build


def write_papers(build: Build) -> None:
    """manifest.json, beside the results."""
    body = render_manifest(build)
    (build.work / "manifest.json").write_text(json.dumps(body, indent=2) + "\n", "utf-8")


def render_manifest(build: Build) -> dict[str, Any]:
    """Everything that the results depend on, and what they are."""
    recipe = build.recipe
    return {
        "version": 1,
        "build": build.key,
        "muster": __version__,
        "architecture": recipe.architecture.name,
        "hardware": recipe.hardware.name,
        "suite": recipe.suite,
        "recipe": recipe.digest(),
        "files": {
            path.name: {"size": path.stat().st_size, "sha256": hash_file(path)}
            for path in (build.medium, build.disk, build.kernel, build.initrd, build.image)
        },
        "packages": [package.describe() for package in build.packages],
        "tools": build.toolbox.packages(),
        "wheels": {path.name: hash_file(path) for path in build.parts.wheels},
        "coreos-installer": hash_file(build.parts.coreos_installer / "bin/coreos-installer"),
    }


def hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
