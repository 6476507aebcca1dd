# SPDX-License-Identifier: Apache-2.0
"""The images that a host comes up with: its installer copies them to its disk, for its first boot.

The host has the list in its own configuration. So who made that has decided, by digest, what it starts from.
"""

from __future__ import annotations

from typing import Final

import msgspec

from muster.errors import ExternalError
from muster.model.host import Role
from muster.model.ignition import PUBLIC, Config, File
from muster.release.model import Release
from muster.release.node.cluster import Cluster, Member

FILE: Final = "/etc/muster/images.json"
STORE: Final = "/var/lib/muster/images"
"""Where they are on the disk: a content store, which is gone when all of it is in use."""
KUBE: Final = "kube"
"""The one program that is all of Kubernetes and etcd, and the image that has it."""
_PAUSE: Final = "pause"
_PODS: Final = ("coredns",)
"""What pods run that every cluster has; they may come to any host but an arbiter."""
IMAGES: Final = (KUBE, *_PODS, _PAUSE)
"""Those that a release has to have."""


class NodeImage(msgspec.Struct, frozen=True):
    """An image that a host needs."""

    name: str
    """Registry, repository and digest."""
    size_bytes: int
    container: bool = True
    """Whether containers run from it; else a program is taken out of it."""


class NodeImages(msgspec.Struct, frozen=True):
    """All of them, the one that is needed first comes first."""

    images: tuple[NodeImage, ...] = ()

    @property
    def size_bytes(self) -> int:
        """At most: images may share layers."""
        return sum(image.size_bytes for image in self.images)


def plan_images(release: Release, cluster: Cluster, host: Member) -> NodeImages:
    """What a host of a role starts from. An arbiter votes, and carries nothing of the cluster's."""
    wanted = [KUBE, _PAUSE]
    if host.role is not Role.ARBITER:
        add_ons = (release.find_add_on(id) for id in cluster.add_ons)
        wanted += [*_PODS, *(id for add_on in add_ons if add_on is not None for id in add_on.images)]
    found = ((id, release.find_image(id)) for id in dict.fromkeys(wanted))
    return NodeImages(
        tuple(NodeImage(image.pullspec, image.size_bytes, id != KUBE) for id, image in found if image)
    )


def images(release: Release, cluster: Cluster, host: Member) -> Config:
    """The list, as a file of the host."""
    data = msgspec.json.encode(plan_images(release, cluster, host))
    return Config((File(FILE, data, PUBLIC),))


def parse_images(data: bytes) -> NodeImages:
    """Read the list."""
    try:
        return msgspec.json.decode(data, type=NodeImages)
    except msgspec.DecodeError as error:
        raise ExternalError(
            f"the list of the images that this host needs cannot be read: {error}",
            hint=f"see {FILE} in its configuration, and the log of the service on the rendezvous host",
        ) from error
