# SPDX-License-Identifier: Apache-2.0
"""Units, programs and manifests of a node as they lie beside this file, with places to be filled: @name@."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Final

from muster.model.ignition import PROGRAM, File

_PLACE: Final = re.compile(r"@([a-z_]+)@")


@lru_cache(maxsize=64)
def load_template(path: str) -> str:
    """A file by its path below this package."""
    return files("muster.release.node").joinpath(path).read_text("utf-8")


def program(name: str) -> File:
    """A script of a node, as a program."""
    return File(f"/usr/local/bin/muster-{name}", load_template(f"scripts/{name}.sh").encode(), PROGRAM)


def fill(text: str, values: Mapping[str, str]) -> str:
    """The text with its places filled. A line that is nothing but an empty place goes away."""
    lines = []
    for line in text.splitlines():
        place = _PLACE.fullmatch(line.strip())
        if place and not values[place[1]]:
            continue
        lines.append(_PLACE.sub(lambda match: values[match[1]], line))
    return "\n".join(lines) + "\n"
