# SPDX-License-Identifier: Apache-2.0
"""A host that booted from its disk becomes a node: what it tells the service until it is one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, Protocol, TypeAlias

import msgspec

from muster.client.snapshot import KubernetesSight
from muster.frozen import dataclass
from muster.model.meeting import PLATFORM
from muster.model.setting_up import SetupProgress, Told
from muster.model.wire.enums import FinalizingStage, HostStage
from muster.node.noted import load_noted
from muster.node.setting_up import load_progress

FILE: Final = "etc/muster/join.json"
AUTHORITY: Final = "etc/muster/service-ca.crt"
KUBECONFIG: Final = "etc/kubernetes/kubelet.conf"
_LOOK_S: Final = 2.0
_READ_S: Final = 1.0
"""How far the cluster is with being set up is a file of this host."""
Look: TypeAlias = Callable[[], Awaitable[KubernetesSight]]
"""What the API says of this node."""
Sleep: TypeAlias = Callable[[float], Awaitable[None]]
Trouble: TypeAlias = Callable[[], Awaitable[str]]
"""What keeps this host from becoming a node, if that can be told; else nothing."""
_LOOKS_TO_WORRY: Final = 10


class Join(msgspec.Struct, frozen=True):
    """What a host takes along to its disk, to tell how far it is."""

    url: str
    infra_env_id: str
    host_id: str
    cluster_id: str
    token: str
    role: str
    alone: bool
    """Whether it is all of the cluster."""
    medium_token: str = ""
    """What a service believes that lost what it knew."""


class Ear(Protocol):
    """The service, which may be away for a while: each call returns when it was told, or never will be."""

    async def stage(self, stage: HostStage, info: str = "") -> None: ...

    async def part(self, id: str, told: Told) -> None: ...

    async def finalizing(self, stage: FinalizingStage) -> bool:
        """Whether that is accepted: hosts that are still on their way may keep the cluster from it."""


@dataclass(frozen=True)
class Sight:
    """What a host can see of itself."""

    look: Look
    trouble: Trouble


async def join(facts: Join, root: Path, sight: Sight, ear: Ear, sleep: Sleep) -> None:
    """Tell each stage when it is reached; the host that sets the cluster up tells when that is done."""
    if not facts.alone:
        await ear.stage("Configuring")
    await _become_node("Rebooting" if facts.alone else "Configuring", sight, ear, sleep)
    if (root / "etc/kubernetes/setup").is_dir():
        await _follow_setup(root, ear, sleep)


async def _become_node(told: HostStage, sight: Sight, ear: Ear, sleep: Sleep) -> None:
    """Tell when it is there and when it is Ready; and what is in the way, when that takes long."""
    trouble, looks = "", 0
    while told != "Done":
        stage = find_stage(await sight.look())
        if stage is not None and stage != told:
            if stage == "Done" and told != "Joined":
                await ear.stage("Joined")
            await ear.stage(stage)
            told, trouble = stage, ""
            continue
        looks += 1
        if looks % _LOOKS_TO_WORRY == 0 and (found := await sight.trouble()) != trouble:
            await ear.stage(told, found)
            trouble = found
        await sleep(_LOOK_S)


async def _follow_setup(root: Path, ear: Ear, sleep: Sleep) -> None:
    """Tell how far each part of the cluster is, until nothing is left to be done."""
    told: dict[str, Told] = {}
    stage = ""
    while True:
        progress = load_progress(root)
        for id, part in progress.parts.items():
            if told.get(id) != part:
                await ear.part(id, part)
                told[id] = part
        now = finalizing_stage(progress)
        if now is not None and now != stage and await ear.finalizing(now):
            stage = now
        if progress.done:
            return
        await sleep(_READ_S)


def finalizing_stage(progress: SetupProgress) -> FinalizingStage | None:
    """What the cluster is doing, in the words of the interface."""
    if not progress.parts or progress.done:
        return None
    own = progress.parts.get(PLATFORM)
    is_own = own is None or own.status != "available"
    return "Waiting for cluster operators" if is_own else "Waiting for olm operators csv"


def name_of(root: Path) -> str:
    """What this host is called."""
    return (root / "etc/hostname").read_text("utf-8").strip()


def find_stage(sight: KubernetesSight) -> HostStage | None:
    """How far a node is, of which the API shows what it knows; None when that is nothing yet."""
    if not sight.nodes:
        return None
    return "Done" if sight.nodes[0].is_ready else "Joined"


def load_join(root: Path) -> Join:
    """What this node is."""
    return load_noted(root, FILE, Join, "what this node is")


def forget(root: Path) -> None:
    """Nothing is left to be told: what only served that goes, the token first."""
    for name in (FILE, AUTHORITY):
        (root / name).unlink(missing_ok=True)
