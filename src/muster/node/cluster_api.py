# SPDX-License-Identifier: Apache-2.0
"""What is asked of the cluster's API while the cluster is set up. No answer is an answer, too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Final, Literal, TypeAlias
from urllib.parse import quote

import msgspec

from muster.model.setting_up import Ready
from muster.node.answers import Answer, Line, Refusal
from muster.node.kinds import Kinds
from muster.node.manifests import Fault, Manifest, parse_manifests
from muster.node.readiness import Judgement, judge, path_of

_APPLY: Final = "?fieldManager=muster&force=true&fieldValidation=Strict"
_APPLIED: Final = {"Content-Type": "application/apply-patch+yaml"}
_MERGED: Final = {"Content-Type": "application/merge-patch+json"}
_NAMES: Final = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
"""Nodes without all that they tell of themselves."""
_NODES: Final = "/api/v1/nodes"
_MARKS: Final = "/api/v1/namespaces/kube-system/configmaps"
_NODE_LOOKS: Final = 30
_LOOK_S: Final = 0.5

Mark: TypeAlias = Literal["there", "absent", "locked out"]


class _Meta(msgspec.Struct):
    name: str


class _Named(msgspec.Struct):
    metadata: _Meta


class _Names(msgspec.Struct):
    items: tuple[_Named, ...] | None = None


class ClusterApi:
    """The cluster, by a line to its API; ``folder`` has the manifests."""

    def __init__(self, line: Line, folder: Path, sleep: Callable[[float], Awaitable[None]]) -> None:
        self._line, self._folder, self._sleep = line, folder, sleep
        self._kinds = Kinds(line, sleep)
        self._warnings: dict[str, tuple[str, ...]] = {}

    async def apply(self, *names: str) -> Refusal | None:
        """All objects of some files, in this order; one that is refused does not keep others from it."""
        refusals: list[Refusal] = []
        for name in names:
            if whys := await self._apply_file(self._folder / name):
                refusals.append(Refusal.of(f"{name} is not accepted: ", whys))
                if refusals[-1].is_silence:  # The rest would wait for the same nobody.
                    break
        return Refusal.of("", refusals) if refusals else None

    def take_warnings(self) -> dict[str, tuple[str, ...]]:
        """Warnings of the API, by object, about what was applied since the last call."""
        found, self._warnings = self._warnings, {}
        return found

    async def _apply_file(self, path: Path) -> list[Refusal]:
        whys: list[Refusal] = []
        for found in _load_objects(path):
            why = found if isinstance(found, Refusal) else await self._apply_object(found)
            if why is not None:
                whys.append(why)
                if why.is_silence:
                    break
        return whys

    async def _apply_object(self, manifest: Manifest) -> Refusal | None:
        place = await self._kinds.find(manifest)
        if isinstance(place, Refusal):
            return Refusal(f"{manifest.title}: {place.words}", place.is_final, place.is_silence)
        answer = await self._put(place.path_of(manifest), manifest.body)
        if answer.is_ok:
            self._kinds.expect(manifest)
            if answer.warnings and manifest.kind != "Secret":  # They may quote it.
                earlier = self._warnings.get(manifest.title, ())
                self._warnings[manifest.title] = tuple(dict.fromkeys((*earlier, *answer.warnings)))
        return answer.refusal(manifest.title, hides=manifest.kind == "Secret")

    async def _put(self, path: str, body: bytes) -> Answer:
        return await self._line.request("PATCH", path + _APPLY, body, _APPLIED)

    async def node_names(self) -> frozenset[str]:
        answer = await self._line.request("GET", _NODES, headers=_NAMES)
        try:
            found = msgspec.json.decode(answer.body, type=_Names) if answer.is_ok else _Names()
        except msgspec.DecodeError:
            return frozenset()
        return frozenset(each.metadata.name for each in found.items or ())

    async def await_node(self, name: str) -> bool:
        """Wait for a node, for 15 seconds; whether it is there."""
        for _ in range(_NODE_LOOKS):
            answer = await self._line.request("GET", _node(name))
            if answer.status != 404:
                return answer.is_ok
            await self._sleep(_LOOK_S)
        return False

    async def label(self, label: str, *nodes: str) -> Refusal | None:
        body = msgspec.json.encode({"metadata": {"labels": {label: ""}}})
        refusals: dict[str, Refusal] = {}
        for name in nodes:
            answer = await self._line.request("PATCH", f"{_node(name)}?fieldManager=muster", body, _MERGED)
            if (why := answer.refusal()) is not None:
                refusals[name] = why
                if why.is_silence:
                    break
        what = f"{', '.join(refusals)}: the role cannot be noted: "
        return Refusal.of(what, refusals.values()) if refusals else None

    async def judge(self, ready: Ready) -> Judgement:
        """Whether a condition holds."""
        answer = await self._line.request("GET", path_of(ready))
        if answer.is_ok or answer.status == 404:
            return judge(ready, answer.body if answer.is_ok else b"")
        return Judgement(False, answer.words)

    async def pods(self, namespace: str) -> bytes:
        return (await self._line.request("GET", f"/api/v1/namespaces/{quote(namespace, '')}/pods")).body

    async def find_mark(self, name: str) -> Mark | Refusal:
        """Whether something was noted in the cluster; who is not let in any more comes too late."""
        answer = await self._line.request("GET", f"{_MARKS}/{quote(name, '')}")
        if answer.status == 401:
            return "locked out"
        if answer.status == 404:
            return "absent"
        return answer.refusal("whether the cluster was set up before is not known") or "there"

    async def set_mark(self, name: str) -> Refusal | None:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
        answer = await self._put(f"{_MARKS}/{quote(name, '')}", msgspec.json.encode(body))
        return answer.refusal("the end of it cannot be noted")


def _load_objects(path: Path) -> Iterator[Manifest | Refusal]:
    try:
        text = path.read_bytes()
    except OSError as error:
        yield Refusal(f"it cannot be read: {(error.strerror or str(error)).lower()}")
        return
    for found in parse_manifests(text):
        yield Refusal(found.words, is_final=True) if isinstance(found, Fault) else found


def _node(name: str) -> str:
    return f"{_NODES}/{quote(name, '')}"
