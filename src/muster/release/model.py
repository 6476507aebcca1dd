# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes release: what is in it, and which images that is. The release's own image has it as a file.

Every image is named by digest; so whoever trusts the digest of the release trusts all of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from muster.frozen import dataclass
from muster.release.oci.digest import Digest
from muster.release.oci.manifest import Descriptor

RELEASE_FILE: Final = "release.json"
BILL_FILE: Final = "sbom.cdx.json"
KIND_ANNOTATION: Final = "muster.release.kind"
"""In the manifest of a release's own image: what kind of release it is."""


class ConditionKind(StrEnum):
    """What can be asked of a cluster to see that an add-on is ready."""

    DEPLOYMENT_AVAILABLE = "deployment-available"
    DAEMON_SET_READY = "daemon-set-ready"
    API_SERVICE_AVAILABLE = "api-service-available"
    STORAGE_CLASS_EXISTS = "storage-class-exists"
    INGRESS_CLASS_EXISTS = "ingress-class-exists"

    @property
    def is_namespaced(self) -> bool:
        return self in (ConditionKind.DEPLOYMENT_AVAILABLE, ConditionKind.DAEMON_SET_READY)


@dataclass(frozen=True)
class Condition:
    """One thing that holds when an add-on is ready."""

    kind: ConditionKind
    name: str
    namespace: str = ""


@dataclass(frozen=True)
class Needs:
    """What something takes of a host or a cluster, besides what that takes for itself."""

    cpu_millicores: int = 0
    memory_mib: int = 0
    disk_mib: int = 0


@dataclass(frozen=True)
class Component:
    """Something that people know by name and version."""

    id: str
    name: str
    version: str
    licence: str
    """As SPDX names it."""
    program: str
    """The file that it is in; several may share one."""
    digest: Digest
    """Of that file."""
    size_bytes: int
    module: str = ""
    """The Go module that it is built from; empty for what is of Muster itself."""
    sum: str = ""
    """What Go's checksum database says of that module."""
    source: str = ""
    changes: str = ""
    """What differs from upstream's own."""


@dataclass(frozen=True)
class ReleaseImage:
    """An image of a release."""

    id: str
    name: str
    """Registry and repository."""
    tag: str
    image: Descriptor
    size_bytes: int
    """Of all that it consists of, as it is stored."""
    components: tuple[str, ...]
    description: str = ""

    @property
    def pullspec(self) -> str:
        """What a node pulls."""
        return f"{self.name}@{self.image.digest}"

    @property
    def tagged(self) -> str:
        """What people call it."""
        return f"{self.name}:{self.tag}"


@dataclass(frozen=True)
class Manifest:
    """Objects that are to be created in a cluster, as YAML."""

    name: str
    text: str


@dataclass(frozen=True)
class AddOn:
    """Something that a cluster may have, or not."""

    id: str
    name: str
    version: str
    bundle: str
    """What it is for; who chooses a bundle is offered all of it."""
    description: str
    images: tuple[str, ...]
    """The ids of those that only it needs."""
    manifests: tuple[Manifest, ...]
    host: Needs
    cluster: Needs
    dependencies: tuple[str, ...]
    conflicts: tuple[str, ...]
    ready: tuple[Condition, ...]


@dataclass(frozen=True)
class Release:
    """All of a release, for one architecture."""

    kind: str
    version: str
    architecture: str
    """As Go names it: amd64, arm64."""
    name: str
    """Registry and repository of its own image."""
    created: str
    muster: str
    """The version of Muster that made it."""
    go: str
    """The version of Go, and below that of the compression: the bytes depend on both."""
    zstd: str
    components: tuple[Component, ...]
    images: tuple[ReleaseImage, ...]
    add_ons: tuple[AddOn, ...]
    os: str = "linux"

    @property
    def tag(self) -> str:
        return f"{self.version}-{self.architecture}"

    @property
    def tagged(self) -> str:
        """What people call it."""
        return f"{self.name}:{self.tag}"

    def image(self, id: str) -> ReleaseImage:
        """An image that has to be there."""
        return next(image for image in self.images if image.id == id)

    def find_image(self, id: str) -> ReleaseImage | None:
        return next((image for image in self.images if image.id == id), None)

    def find_add_on(self, id: str) -> AddOn | None:
        return next((add_on for add_on in self.add_ons if add_on.id == id), None)

    @property
    def own_images(self) -> tuple[ReleaseImage, ...]:
        """Those that every cluster needs."""
        extra = {id for add_on in self.add_ons for id in add_on.images}
        return tuple(image for image in self.images if image.id not in extra)


def total_size(images: Iterable[ReleaseImage]) -> int:
    """How many bytes images take, if they share nothing."""
    return sum(image.size_bytes for image in images)
