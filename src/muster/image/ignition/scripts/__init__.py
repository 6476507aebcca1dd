# SPDX-License-Identifier: Apache-2.0
"""Programs for the live system, in the shell that every one of them has."""

from __future__ import annotations

from importlib.resources import files


def load_script(name: str) -> bytes:
    """A program by its name."""
    return files(__package__).joinpath(f"{name}.sh").read_bytes()
