# SPDX-License-Identifier: Apache-2.0
"""A release and a cluster → the Ignition config of every host: one page of parts."""

from __future__ import annotations

from muster.certificates.keys import Random
from muster.model.ignition import Config, File, join
from muster.release.model import Release
from muster.release.node.authorities import ClusterAuthorities
from muster.release.node.certificates import KUBELET_AUTHORITY, node_certificates
from muster.release.node.check import check_cluster
from muster.release.node.clock import clock
from muster.release.node.cluster import Cluster, Member
from muster.release.node.firewall import firewall
from muster.release.node.images import images
from muster.release.node.network import network
from muster.release.node.programs import programs
from muster.release.node.runtime import runtime
from muster.release.node.setup import setup
from muster.release.node.tuning import load_tuning
from muster.release.node.vips import vips


def node_payload(release: Release, cluster: Cluster, host: Member, certificates: tuple[File, ...]) -> Config:
    """What a host needs to run its part of the cluster."""
    tuning = load_tuning(cluster.tuning)
    authority = next((file.data.decode() for file in certificates if file.path == KUBELET_AUTHORITY), "")
    return join(
        (
            Config(certificates),
            clock(cluster, host),
            firewall(cluster, host),
            network(cluster, host),
            runtime(release, cluster),
            images(release, cluster, host),
            programs(release, cluster, host, tuning),
            vips(cluster, host, tuning.vips),
            setup(release, cluster, host, tuning, authority),
        )
    )


def plan_cluster(
    release: Release, cluster: Cluster, authorities: ClusterAuthorities, random: Random
) -> dict[str, Config]:
    """The configs of all hosts, by their names. A UserError when the cluster cannot be made like that."""
    check_cluster(release, cluster)
    return {
        host.name: node_payload(release, cluster, host, node_certificates(authorities, cluster, host, random))
        for host in cluster.members
    }
