# SPDX-License-Identifier: Apache-2.0
"""What the service asks of a release: the files that make a cluster of hosts.

Each kind of release has a driver. The service does not care what is in the files: it keeps them, hands them
to whom they are for, and starts the installation when they are there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from muster.frozen import dataclass
from muster.service.state import Cluster, Host


@dataclass(frozen=True)
class ClusterOrder:
    """What a cluster is made of, at the moment when its installation begins."""

    cluster: Cluster
    hosts: tuple[Host, ...]
    pull_secret: str
    manifests: Mapping[str, bytes]
    """The user's manifests, by folder and name; only `prepare` is given them."""
    secrets: str = ""
    """What an earlier preparation made and people may have already; the same is used again."""
    rendezvous: str = ""
    """Id of the host that the service runs on; empty if it runs on none of the hosts."""


class ReleaseDriver(Protocol):
    """A kind of release."""

    kind: str

    def install_config(self, order: ClusterOrder) -> str:
        """The configuration of the cluster, with secrets left out, for people to look at."""

    def prepare(self, order: ClusterOrder) -> Mapping[str, bytes]:
        """The cluster's files by name; UserError says why they cannot be made.

        install-config.yaml, metadata.json, kubeconfig-noingress, kubeadmin-password, and Ignition configs:
        `<role>.ign` for roles, `host/<id>.ign` for hosts.
        """

    def credentials(self, order: ClusterOrder) -> Mapping[str, bytes]:
        """Those of the cluster's files that people use it with, before the others can be made.

        What is made later goes with them: `secrets` of an order has to bring the secrets among them back.
        """

    def images(self, order: ClusterOrder) -> tuple[str, ...]:
        """The images that a host must be able to get before it is installed."""
