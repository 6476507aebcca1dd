# SPDX-License-Identifier: Apache-2.0
"""The name of a place in a site's files: ``image-based-config.networkConfig.interfaces[0].name``."""

from __future__ import annotations

import re
from typing import Final, NamedTuple, TypeAlias

from muster.config.kinds import TOP_FILES
from muster.config.spelling import closest
from muster.model.image_based import ImageBasedConfig
from muster.model.install_config import InstallConfig
from muster.model.schema import Field, Leaf, Model, Object, fields_of

Steps: TypeAlias = tuple[str | int, ...]
FILES: Final[dict[str, type[Model]]] = {
    name.removesuffix(".yaml"): model
    for name, model in TOP_FILES.items()
    if model in (InstallConfig, ImageBasedConfig)
}
"""What a row may speak of."""
_STEP: Final = re.compile(r'\.?([^.\[\]"]+)|\[(\d{1,4})\]|\["([^"]+)"\]')


class Path(NamedTuple):
    """A place in one of the files."""

    file: str
    steps: Steps

    def __str__(self) -> str:
        return self.file + "".join(_render(step) for step in self.steps)


def _render(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f'["{step}"]' if re.search(r'[.\[\]"]', step) else f".{step}"


def find_path(text: str) -> Path | None:
    """The place that a text names, if it begins with a file; whether there is such a field is not asked."""
    file = next((name for name in FILES if text.startswith((f"{name}.", f"{name}["))), None)
    if file is None:
        return None
    steps: list[str | int] = []
    index = len(file)
    while index < len(text):
        match = _STEP.match(text, index)
        if match is None:
            return None
        steps.append(int(match[2]) if match[2] else match[1] or match[3])
        index = match.end()
    return Path(file, tuple(steps)) if steps else None


class Target(NamedTuple):
    """What the schema says of a place."""

    fault: str
    """Why there can be no such place; empty when there can."""
    secret: bool = False


def look_up(path: Path) -> Target:
    """Follow a place through the fields of its file, as far as those are ours to know."""
    model = FILES[path.file]
    steps = list(path.steps)
    while steps:
        name = steps.pop(0)
        known = fields_of(model)
        entry = known.get(str(name)) if isinstance(name, str) else None
        if entry is None:
            right = closest(str(name), known)
            return Target(f"{name} is not a field" + (f"; did you mean {right}?" if right else ""))
        inner = _step_into(entry, steps)
        if isinstance(inner, Target):
            return inner
        model = inner
    return Target("")


def _step_into(entry: Field, steps: list[str | int]) -> type[Model] | Target:
    """The model of a field's values, or what is known when the path ends there or leaves the schema."""
    if steps and entry.many:
        if not isinstance(steps.pop(0), int):
            return Target(f"{entry.key} is a list; name an entry of it, like {entry.key}[0]")
    elif steps and entry.table:
        steps.pop(0)
    if isinstance(entry.kind, Object):
        return entry.kind.model
    if isinstance(entry.kind, Leaf):
        fault = f"{entry.key} is a single value, nothing is below it" if steps else ""
        return Target(fault, secret=entry.secret)
    return Target("")
