# SPDX-License-Identifier: Apache-2.0
"""Where the Kubernetes API keeps the objects of each kind, as it says itself."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import quote

import msgspec

from muster.frozen import dataclass
from muster.node.answers import Line, Refusal
from muster.node.manifests import Manifest

_ACCEPT: Final = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
_LOOKS: Final = 10
_LOOK_S: Final = 0.5


class _Kind(msgspec.Struct):
    kind: str = ""


class _Resource(msgspec.Struct, rename="camel"):
    resource: str
    scope: str = ""
    response_kind: _Kind | None = None


class _Version(msgspec.Struct):
    version: str
    resources: tuple[_Resource, ...] | None = None


class _Meta(msgspec.Struct):
    name: str = ""


class _Group(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    versions: tuple[_Version, ...] | None = None


class _Groups(msgspec.Struct):
    items: tuple[_Group, ...] | None = None


class _DefinedSpec(msgspec.Struct):
    group: str
    names: _Kind


class _Defined(msgspec.Struct):
    spec: _DefinedSpec


@dataclass(frozen=True)
class Place:
    """Where objects of one kind are."""

    folder: str
    """The path of their group and version."""
    plural: str
    is_namespaced: bool

    def path_of(self, manifest: Manifest) -> str:
        space = f"/namespaces/{quote(manifest.namespace or 'default', '')}" if self.is_namespaced else ""
        return f"{self.folder}{space}/{self.plural}/{quote(manifest.name, '')}"


class Kinds:
    """What is known of them; the API is asked again for one that is not."""

    def __init__(self, line: Line, sleep: Callable[[float], Awaitable[None]]) -> None:
        self._line, self._sleep = line, sleep
        self._places: dict[tuple[str, str], Place] = {}
        """By apiVersion and kind."""
        self._coming: set[tuple[str, str]] = set()
        """Group and kind of what was defined by us."""

    def expect(self, accepted: Manifest) -> None:
        """Objects of a kind that was defined just now can be made in a moment."""
        if accepted.kind == "CustomResourceDefinition":
            # A part of a definition is accepted, too, where the rest of it is there already.
            with contextlib.suppress(msgspec.DecodeError):
                spec = msgspec.json.decode(accepted.body, type=_Defined).spec
                self._coming.add((spec.group, spec.names.kind))

    async def find(self, manifest: Manifest) -> Place | Refusal:
        """Where an object belongs."""
        key = (manifest.api_version, manifest.kind)
        group = manifest.api_version.rpartition("/")[0]
        looks = _LOOKS if (group, manifest.kind) in self._coming else 1
        for look in range(looks):
            if key in self._places:
                break
            if look:
                await self._sleep(_LOOK_S)
            if (refusal := await self._ask("/apis" if group else "/api")) is not None:
                return refusal
        self._coming.discard((group, manifest.kind))
        missing = Refusal(f"no kind {manifest.kind} of {manifest.api_version} is known in the cluster")
        return self._places.get(key, missing)

    async def _ask(self, root: str) -> Refusal | None:
        answer = await self._line.request("GET", root, headers=_ACCEPT)
        if not answer.is_ok:
            return answer.refusal("the kinds of the cluster are not known")
        try:
            found = msgspec.json.decode(answer.body, type=_Groups)
        except msgspec.DecodeError as error:
            return Refusal(f"what the API says of its kinds cannot be understood: {error}")
        for group in found.items or ():
            for version in group.versions or ():
                self._note(root, group.metadata.name, version)
        return None

    def _note(self, root: str, group: str, version: _Version) -> None:
        name = f"{group}/{version.version}" if group else version.version
        for each in version.resources or ():
            if each.response_kind is not None:
                place = Place(f"{root}/{name}", each.resource, each.scope == "Namespaced")
                self._places[name, each.response_kind.kind] = place
