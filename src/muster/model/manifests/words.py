# SPDX-License-Identifier: Apache-2.0
"""Kinds of values that have more than one accepted spelling."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, TypeVar

from muster.model.machine_pool import Architecture
from muster.model.schema import Complain, Leaf
from muster.model.tree import Scalar

E = TypeVar("E", bound=StrEnum)


def word(shown: Mapping[str, E], also: Mapping[str, E] | None = None) -> Leaf[E]:
    """One of the words that are shown, or one of the others; an empty text is the same as none."""
    known = {**shown, **(also or {})}

    def parse(node: Scalar, complain: Complain) -> E | None:
        if not node.text or node.text in known:
            return known.get(node.text)
        same = [text for text in shown if text.lower() == node.text.lower()]
        complain("not-a-choice", choices=", ".join(shown), repaired=same[0] if same else None)
        return known[same[0]] if same else None

    return Leaf(" | ".join(shown), {"type": "string", "enum": [*known, ""]}, parse)


def choice_or_empty(options: type[E]) -> Leaf[E]:
    """One of the values of an enumeration; an empty text is the same as none."""
    return word({str(option): option for option in options})


ARCHITECTURE: Final = word(
    {
        "x86_64": Architecture.AMD64,
        "aarch64": Architecture.ARM64,
        "ppc64le": Architecture.PPC64LE,
        "s390x": Architecture.S390X,
    },
    also={"amd64": Architecture.AMD64, "arm64": Architecture.ARM64},
)
"""A CPU architecture as the kernel calls it; the names that Kubernetes has for it are understood."""
