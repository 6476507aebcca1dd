# SPDX-License-Identifier: Apache-2.0
"""The first host sets its cluster up: the cluster's own parts, the user's manifests, roles of nodes, add-ons.

All of it is applied as wanted state, so it may be begun again at any moment. How far it is stands in a file;
`muster host join` tells the service. What is on top of the cluster and does not become ready in its time is
told with its reason, and the rest goes on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from muster.files import remove_file, save_file
from muster.frozen import dataclass
from muster.model.meeting import PLATFORM
from muster.model.setting_up import (
    MANIFESTS,
    MARK,
    PLAN_FILE,
    SETUP_FOLDER,
    Part,
    SetupPlan,
    SetupProgress,
    Status,
    Told,
)
from muster.node.noted import load_noted
from muster.node.readiness import find_pod_trouble

if TYPE_CHECKING:  # Whoever only reads how far it is does not load what does it.
    from muster.node.answers import Refusal
    from muster.node.cluster_api import ClusterApi, Mark

PROGRESS: Final = "var/lib/muster/cluster-setup.json"
SETUP_DONE: Final = "var/lib/muster/cluster-setup.done"
DEADLINE_S: Final = 1800.0
"""So long an add-on, or a manifest of the user's, may take."""
_SHOWN: Final = 1000
_AGAIN_S: Final = 5.0
_OWN_S: Final = 1.0
"""The whole installation waits for the cluster's own parts."""


@dataclass(frozen=True)
class Desk:
    """What setting up needs of the world."""

    root: Path
    cluster: ClusterApi
    say: Callable[[str], None]
    sleep: Callable[[float], Awaitable[None]]
    clock: Callable[[], float]


def load_plan(root: Path) -> SetupPlan:
    """How the cluster is set up."""
    return load_noted(root, PLAN_FILE, SetupPlan, "how the cluster is set up")


def load_progress(root: Path) -> SetupProgress:
    """How far it is; nothing when it has not begun."""
    try:
        return msgspec.json.decode((root / PROGRESS).read_bytes(), type=SetupProgress)
    except (OSError, msgspec.DecodeError):
        return SetupProgress()


def part_ids(plan: SetupPlan) -> tuple[str, ...]:
    """All that is told of, in the order in which it is done."""
    own = (MANIFESTS,) if plan.manifests else ()
    return (PLATFORM, *own, *(each.id for each in plan.add_ons))


class SettingUp:
    """One run, from the beginning to the end."""

    def __init__(self, plan: SetupPlan, desk: Desk) -> None:
        self._plan, self._desk = plan, desk
        self._parts: dict[str, Told] = {}
        self._waiting = list(plan.manifests)
        """Manifests of the user's that were not accepted yet."""
        self._warned: dict[str, tuple[str, ...]] = {}
        """Warnings of the API about objects in the user's manifests."""

    async def run(self) -> None:
        """Do all of it; it was done before when the cluster says so, or does not take the login any more."""
        desk = self._desk
        mark = await self._find_mark()
        if mark == "absent":
            await self._set_up()
        else:
            desk.say("this cluster was set up before")
            if mark == "there":
                await self._label_nodes()
            self._parts = dict(load_progress(desk.root).parts)
            for id in part_ids(self._plan):
                if id not in self._parts:
                    self._tell(id, "available", "it was set up before")
        self._save(done=True)
        save_file(desk.root / SETUP_DONE, b"")
        remove_file(desk.root / SETUP_FOLDER.lstrip("/") / "kubeconfig")

    async def _find_mark(self) -> Mark:
        """Asked until the cluster says it: who guesses undoes what people changed since."""
        while not isinstance(found := await self._desk.cluster.find_mark(MARK), str):
            self._tell(PLATFORM, "progressing", found.words)
            await self._desk.sleep(_AGAIN_S)
        return found

    async def _set_up(self) -> None:
        await self._apply_own()
        await self._apply_manifests()
        await self._label_nodes()
        await self._await_own()
        self._tell(PLATFORM, "available", "all of it is set up")
        for add_on in self._plan.add_ons:
            await self._add(add_on)
        await self._finish_manifests()
        while await self._desk.cluster.set_mark(MARK) is not None:
            await self._desk.sleep(_AGAIN_S)

    async def _apply_own(self) -> None:
        if self._plan.own.files:
            await self._insist(partial(self._desk.cluster.apply, *self._plan.own.files))

    async def _insist(self, act: Callable[[], Awaitable[Refusal | None]]) -> None:
        """Something that has to be done before anything else: it is tried until it is."""
        while (refusal := await act()) is not None:
            self._tell(PLATFORM, "progressing", refusal.words)
            await self._desk.sleep(_AGAIN_S)

    async def _apply_manifests(self) -> tuple[Refusal, ...]:
        """Try those that were not accepted yet, in the order of their names. Why some were refused."""
        refusals: dict[str, Refusal] = {}
        names = iter(self._waiting)
        self._desk.cluster.take_warnings()  # About parts of the cluster.
        for name in names:
            refusal = await self._desk.cluster.apply(name)
            self._note_warnings(name)
            if refusal is not None:
                refusals[name] = refusal
                if refusal.is_silence:  # The rest would wait for the same nobody.
                    break
        self._waiting = [*refusals, *names]
        if refusals:
            self._tell(MANIFESTS, "progressing", _words_of(refusals.values()))
        elif self._plan.manifests:
            self._tell(MANIFESTS, "available", f"all of them are applied{self._warning_hint()}")
        return tuple(refusals.values())

    def _note_warnings(self, name: str) -> None:
        """Log each warning once. Workloads get one when Pod Security would refuse their pods."""
        for title, texts in self._desk.cluster.take_warnings().items():
            if self._warned.get(title) != texts:
                self._warned[title] = texts
                self._desk.say(f"{MANIFESTS}: {name}: the API warns about {title}: {'; '.join(texts)}")

    def _warning_hint(self) -> str:
        if not self._warned:
            return ""
        shown = ", ".join(self._warned)[:_SHOWN]
        return f"; the API warns about {shown}: see `journalctl -u muster-cluster-setup`"

    async def _finish_manifests(self) -> None:
        """Until all are applied; one that no waiting mends does not keep others from it."""
        end = self._desk.clock() + DEADLINE_S
        while self._waiting and (refusals := await self._apply_manifests()):
            if all(each.is_final for each in refusals) or self._desk.clock() >= end:
                fix = "mend it, and apply it with kubectl; the file is in openshift/ of the site"
                self._tell(MANIFESTS, "failed", f"{_words_of(refusals)}; {fix}")
                return
            await self._desk.sleep(_AGAIN_S)

    async def _label_nodes(self) -> None:
        labelled: set[str] = set()
        while True:
            known = await self._desk.cluster.node_names()
            missing = [name for name in self._plan.nodes if name not in known]
            for label in dict.fromkeys(self._plan.nodes.values()):
                mine = {name for name, own in self._plan.nodes.items() if own == label}
                if new := sorted(mine & known - labelled):
                    await self._insist(partial(self._desk.cluster.label, label, *new))
                    labelled.update(new)
            if not missing:
                return
            self._tell(PLATFORM, "progressing", f"hosts that have not joined yet: {', '.join(missing)}")
            if not await self._desk.cluster.await_node(missing[0]):
                await self._desk.sleep(_AGAIN_S)

    async def _await_own(self) -> None:
        """Until they run: that takes schedulers, controllers, images and the network that all others need."""
        for ready in self._plan.own.ready:
            while not (judgement := await self._desk.cluster.judge(ready)).is_ready:
                trouble = await self._find_trouble(ready.namespace)
                self._tell(PLATFORM, "progressing", trouble or f"{ready.name}: {judgement.words}")
                await self._desk.sleep(_OWN_S)

    async def _add(self, add_on: Part) -> None:
        """Apply it, and wait until it is ready."""
        desk, end = self._desk, self._desk.clock() + DEADLINE_S
        left = list(add_on.files)
        while words := await self._apply_files(left) or await self._missing_of(add_on):
            if desk.clock() >= end:
                self._tell(add_on.id, "failed", await self._explain(add_on, words))
                return
            self._tell(add_on.id, "progressing", words)
            await desk.sleep(_AGAIN_S)
        self._tell(add_on.id, "available", "it is ready")
        await self._apply_manifests()

    async def _apply_files(self, left: list[str]) -> str:
        """Those that are left, until one is refused; why it was."""
        while left:
            refusal = await self._desk.cluster.apply(left[0])
            if refusal is not None:
                return refusal.words
            del left[0]
        return ""

    async def _missing_of(self, add_on: Part) -> str:
        for ready in add_on.ready:
            judgement = await self._desk.cluster.judge(ready)
            if not judgement.is_ready:
                return judgement.words
        return ""

    async def _explain(self, add_on: Part, words: str) -> str:
        """Why it is not ready after all that time, and where to look."""
        spaces = tuple(dict.fromkeys(each.namespace for each in add_on.ready if each.namespace))
        reason = await self._find_trouble(*spaces) or words
        where = f"--namespace {spaces[0]} describe pods" if spaces else "get events --all-namespaces"
        return f"not ready after {DEADLINE_S / 60:g} minutes: {reason}; look with `kubectl {where}`"

    async def _find_trouble(self, *namespaces: str) -> str:
        """Why a pod does not run, if one does not."""
        for each in namespaces:
            if trouble := find_pod_trouble(await self._desk.cluster.pods(each)):
                return trouble
        return ""

    def _tell(self, id: str, status: Status, info: str) -> None:
        told = Told(status, info)
        if self._parts.get(id) == told:
            return
        self._parts[id] = told
        self._desk.say(f"{id}: {info}")
        self._save(done=False)

    def _save(self, *, done: bool) -> None:
        progress = SetupProgress(self._parts, done)
        save_file(self._desk.root / PROGRESS, msgspec.json.encode(progress))


def _words_of(refusals: Iterable[Refusal]) -> str:
    return "; ".join(each.words for each in refusals)[:_SHOWN]
