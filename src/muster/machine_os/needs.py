# SPDX-License-Identifier: Apache-2.0
"""Modules and what they need: the kernel's modules.dep and GRUB's moddep.lst are written alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def parse_needs(text: str) -> dict[str, list[str]]:
    """By the name of each module, the names of those that it needs."""
    lines = (line.partition(":") for line in text.splitlines())
    return {name.strip(): needs.split() for name, _, needs in lines}


def closure(needs: Mapping[str, Iterable[str]], names: Iterable[str]) -> set[str]:
    """Modules, and all that they need."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(needs.get(name, ()))
    return found
