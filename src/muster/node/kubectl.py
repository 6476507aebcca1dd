# SPDX-License-Identifier: Apache-2.0
"""What is asked of the cluster with kubectl while it is set up. No answer is an answer, too."""

from __future__ import annotations

import json
from typing import Final, Literal, TypeAlias

from muster.frozen import dataclass
from muster.machine import Machine
from muster.model.setting_up import SETUP_FOLDER, Ready
from muster.node.readiness import RESOURCES, Judgement, judge
from muster.run import Said

_DEADLINE_S: Final = 120.0
_NODE_S: Final = 15
"""So long one program waits for a node: starting another takes longer than what it asks."""
_FINAL: Final = ("error parsing", "error converting YAML", "Invalid value", "unknown field")
"""What no waiting mends."""
_MARK_SPACE: Final = "kube-system"


Mark: TypeAlias = Literal["there", "absent", "locked out"]


@dataclass(frozen=True)
class Refusal:
    """Why something was not done."""

    words: str
    is_final: bool = False


@dataclass(frozen=True)
class Kubectl:
    """The cluster, with the login that its first host has for the beginning."""

    machine: Machine

    async def ask(self, *words: str, feed: str = "") -> Said:
        folder = self.machine.root / SETUP_FOLDER.lstrip("/")
        argv = ("kubectl", f"--kubeconfig={folder}/kubeconfig", *words)
        return await self.machine.ask(argv, deadline_s=_DEADLINE_S, feed=feed)

    async def apply(self, *names: str) -> Refusal | None:
        """Files of manifests, in this order, by one program: its start takes longer than what it asks."""
        folder = self.machine.root / SETUP_FOLDER.lstrip("/") / "manifests"
        said = await self._apply(*(str(folder / name) for name in names))
        return _refusal(f"{', '.join(names)} {'are' if names[1:] else 'is'} not accepted", said)

    async def _apply(self, *paths: str, feed: str = "") -> Said:
        manner = ("--server-side", "--force-conflicts", "--field-manager=muster")
        return await self.ask("apply", *manner, *(f"--filename={path}" for path in paths), feed=feed)

    async def node_names(self) -> frozenset[str]:
        said = await self.ask("get", "nodes", "--output=name")
        return (
            frozenset(line.removeprefix("node/") for line in said.out.split()) if said.is_ok else frozenset()
        )

    async def await_node(self, name: str) -> bool:
        """Wait for a node, for a while; whether it is there."""
        return (await self.ask("wait", "--for=create", f"node/{name}", f"--timeout={_NODE_S}s")).is_ok

    async def label(self, label: str, *nodes: str) -> Refusal | None:
        said = await self.ask("label", "--overwrite", "node", *nodes, f"{label}=")
        return _refusal(f"{', '.join(nodes)}: the role cannot be noted", said)

    async def judge(self, ready: Ready) -> Judgement:
        """Whether a condition holds."""
        place = (f"--namespace={ready.namespace}",) if ready.namespace else ()
        said = await self.ask(
            "get", RESOURCES[ready.kind], ready.name, *place, "--ignore-not-found", "--output=json"
        )
        return judge(ready, said.out) if said.is_ok else Judgement(False, said.trouble)

    async def pods(self, namespace: str) -> str:
        return (await self.ask("get", "pods", f"--namespace={namespace}", "--output=json")).out

    async def find_mark(self, name: str) -> Mark:
        """Whether something was noted in the cluster; who is not let in any more comes too late."""
        place = f"--namespace={_MARK_SPACE}"
        said = await self.ask("get", "configmap", name, place, "--ignore-not-found", "--output=name")
        if not said.is_ok:
            return "locked out" if "Unauthorized" in said.err else "absent"
        return "there" if said.out.strip() else "absent"

    async def set_mark(self, name: str) -> Refusal | None:
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": _MARK_SPACE},
        }
        return _refusal("the end of it cannot be noted", await self._apply("-", feed=json.dumps(body)))


def _refusal(what: str, said: Said) -> Refusal | None:
    if said.is_ok:
        return None
    text = " ".join(line.strip() for line in (said.err or said.out).splitlines() if line.strip())
    return Refusal(f"{what}: {text[:500] or said.trouble}", any(word in text for word in _FINAL))
