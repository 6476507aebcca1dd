# SPDX-License-Identifier: Apache-2.0
"""What a host comes up with: its installer puts images and programs onto its disk, for its first boot.

The host has the list in its own configuration. So who made that has decided, by digest, what it starts from.
"""

from __future__ import annotations

from typing import Final

import msgspec

from muster.errors import ExternalError
from muster.model.host import Role
from muster.model.ignition import PUBLIC, Config, File
from muster.release.model import Release, ReleaseImage
from muster.release.node.cluster import Cluster, Member
from muster.release.oci.digest import hex_of, is_digest

FILE: Final = "/etc/muster/images.json"
STORE: Final = "/var/lib/muster/images"
"""Where images are on the disk: a content store, which is gone when all of it is in use."""
PROGRAMS: Final = "/var/lib/muster/programs"
"""Where programs are on the disk, each by what it hashes to: what has that name is right."""
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


class NodeProgram(msgspec.Struct, frozen=True):
    """A program of a host, which is taken out of an image."""

    image: NodeImage
    architecture: str
    """As Go names it, for an image that is for several."""
    path: str
    """Of the file in it."""
    sha256: str
    size_bytes: int


class NodeImages(msgspec.Struct, frozen=True):
    """All of them, what is needed first comes first."""

    images: tuple[NodeImage, ...] = ()
    """What containers run from."""
    programs: tuple[NodeProgram, ...] = ()

    @property
    def size_bytes(self) -> int:
        """Of the images, at most: they may share layers."""
        return sum(image.size_bytes for image in self.images)


def plan_images(release: Release, cluster: Cluster, host: Member) -> NodeImages:
    """What a host of a role starts from. An arbiter votes, and carries nothing of the cluster's."""
    wanted = [_PAUSE]
    if host.role is not Role.ARBITER:
        add_ons = (release.find_add_on(id) for id in cluster.add_ons)
        wanted += [*_PODS, *(id for add_on in add_ons if add_on is not None for id in add_on.images)]
    found = (release.find_image(id) for id in dict.fromkeys(wanted))
    return NodeImages(tuple(_listed(image) for image in found if image), (kube_program(release),))


def _listed(image: ReleaseImage) -> NodeImage:
    return NodeImage(image.pullspec, image.size_bytes)


def kube_program(release: Release) -> NodeProgram:
    """The one program, and where it is."""
    kube = next(each for each in release.components if each.program == KUBE)
    return NodeProgram(
        image=_listed(release.image(KUBE)),
        architecture=release.architecture,
        path=f"/usr/bin/{KUBE}",
        sha256=hex_of(kube.digest),
        size_bytes=kube.size_bytes,
    )


def images(release: Release, cluster: Cluster, host: Member) -> Config:
    """The list, as a file of the host."""
    data = msgspec.json.encode(plan_images(release, cluster, host))
    return Config((File(FILE, data, PUBLIC),))


def parse_images(data: bytes) -> NodeImages:
    """Read the list. An image without a digest is refused: its content could not be checked."""
    try:
        found = msgspec.json.decode(data, type=NodeImages)
    except msgspec.DecodeError as error:
        raise _unreadable(str(error)) from error
    for image in (*found.images, *(program.image for program in found.programs)):
        if not is_digest(image.name.partition("@")[2]):
            raise _unreadable(f"the image {image.name[:200]} is not named by digest")
    return found


def _unreadable(why: str) -> ExternalError:
    return ExternalError(
        f"the list of the images that this host needs cannot be read: {why}",
        hint=f"see {FILE} in its configuration, and the log of the service on the rendezvous host",
    )
