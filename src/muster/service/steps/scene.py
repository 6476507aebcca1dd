# SPDX-License-Identifier: Apache-2.0
"""What is looked at when a host asks what to do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec

from muster.service.realm import Realm
from muster.service.state import Cluster, Host, InfraEnv


class ReleaseImages(msgspec.Struct, frozen=True):
    """The images of a release that a host needs."""

    release: str
    installer: str
    controller: str
    mco: str = ""
    must_gather: str = ""
    coreos: str = ""


class BootArtifacts(msgspec.Struct, frozen=True):
    """Where a host finds the discovery image, to start it from its own disk."""

    kernel_url: str
    rootfs_url: str
    initrd_url: str


class Means(msgspec.Struct, frozen=True):
    """What the service brings along: images, chance, and what opens secrets."""

    chance: Callable[[], str]
    """Eight hexadecimal digits, others each time."""
    images: ReleaseImages | None = None
    """Of the cluster's release, when it is known."""
    agent_image: str = ""
    """The agent that hosts have to run; empty: any."""
    artifacts: BootArtifacts | None = None
    open_secret: Callable[[str, str, str], str] | None = None
    """Opens what is sealed: a subject, its field, and the sealed text."""


class Scene(msgspec.Struct, frozen=True):
    """A host that asks what to do, and all that decides about the answer."""

    realm: Realm
    host: Host
    infra_env: InfraEnv | None
    now: datetime
    means: Means
    waits: bool = False
    """Whether the host waits at our end for news, rather than asking again and again."""

    @property
    def cluster(self) -> Cluster | None:
        """The cluster that the host is bound to."""
        return self.realm.cluster

    @property
    def is_day2(self) -> bool:
        """Whether the host joins a cluster that is there already."""
        return self.host.kind == "AddToExistingClusterHost"
