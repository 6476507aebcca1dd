# SPDX-License-Identifier: Apache-2.0
"""What is done once for a cluster, in order, as its first host is told; and how far it is with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import msgspec

SETUP_FOLDER: Final = "/etc/kubernetes/setup"
PLAN_FILE: Final = f"{SETUP_FOLDER}/plan.json"
MANIFESTS: Final = "manifests"
"""What the service and the first node call the user's own manifests, as one."""
MARK: Final = "muster-cluster-setup"
"""A config map of kube-system: all of this was done. A first host that is written again leaves it at that."""

Status: TypeAlias = Literal["progressing", "available", "failed"]


class Ready(msgspec.Struct, frozen=True):
    """One thing that holds when a part is there: `muster.release.model.ConditionKind`, and of what."""

    kind: str
    name: str
    namespace: str = ""


class Part(msgspec.Struct, frozen=True):
    """Manifests that belong together."""

    id: str
    files: tuple[str, ...]
    ready: tuple[Ready, ...] = ()


class SetupPlan(msgspec.Struct, frozen=True):
    """All of it."""

    nodes: Mapping[str, str]
    """The label of each node, by its name."""
    own: Part
    manifests: tuple[str, ...] = ()
    """The user's own, which may wait for something that comes with an add-on."""
    add_ons: tuple[Part, ...] = ()
    """In an order in which each comes after those that it needs."""


class Told(msgspec.Struct, frozen=True):
    """How far one part is."""

    status: Status
    info: str


class SetupProgress(msgspec.Struct, frozen=True):
    """How far all of them are, by id."""

    parts: Mapping[str, Told] = {}
    done: bool = False
    """Nothing is left to be done."""
