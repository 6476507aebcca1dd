# SPDX-License-Identifier: Apache-2.0
"""Whether a cluster has the hosts that it needs, ready and agreeing about the time."""

from __future__ import annotations

from collections import Counter
from typing import Final

from muster.service.validations.facts import NAME, ROLE, is_single, join, name_of, role_of
from muster.service.validations.registry import (
    SUPPRESSED,
    Answer,
    ClusterView,
    Reads,
    failed,
    on_cluster,
    passed,
    pending,
)

READY: Final = frozenset({"known", "preparing-for-installation", "preparing-successful"})
MOST_APART_S: Final = 4 * 60
PAIR: Final = 2
"""As many control-plane hosts need somebody to tell who is right when they lose each other."""


@on_cluster("all-hosts-are-ready-to-install", "hosts-data", Reads(NAME | {"status"}), must=True)
def all_hosts_are_ready_to_install(see: ClusterView) -> Answer:
    waiting = [f"{name_of(host)} ({host.status})" for host in see.hosts.values() if host.status not in READY]
    return failed(hosts=join(waiting)) if waiting else passed()


@on_cluster(
    "sufficient-masters-count",
    "hosts-data",
    Reads(ROLE | {"id", "fencing_credentials"}, {"control_plane_count"}),
    must=True,
)
def sufficient_masters_count(see: ClusterView) -> Answer:
    wanted = see.cluster.control_plane_count
    roles = Counter(role_of(host) for host in see.hosts.values())
    masters = roles["master"] + roles["bootstrap"]
    if is_single(see.cluster) and (masters != wanted or len(see.hosts) != wanted):
        return failed("single", found=len(see.hosts), masters=masters)
    if masters != wanted:
        return failed(found=masters, wanted=wanted, undecided=roles["auto-assign"])
    if wanted == PAIR and not roles["arbiter"] and not _are_fenced(see):
        return failed("pair")
    return passed()


def _are_fenced(see: ClusterView) -> bool:
    return all(host.fencing_credentials for host in see.hosts.values() if role_of(host) == "master")


@on_cluster("ntp-server-configured", "network", Reads(NAME | {"clock_offset_s"}))
def ntp_server_configured(see: ClusterView) -> Answer:
    clocks = [
        (host.clock_offset_s, name_of(host)) for host in see.hosts.values() if host.clock_offset_s is not None
    ]
    if len(clocks) < 2:
        return passed()
    (slow, behind), (fast, ahead) = min(clocks), max(clocks)
    if fast - slow <= MOST_APART_S:
        return passed()
    return failed(ahead=ahead, behind=behind, minutes=(fast - slow) // 60, most=MOST_APART_S // 60)


@on_cluster("rendezvous-ip-unique", "network", Reads(cluster={"rivals"}), must=True)
def rendezvous_ip_unique(see: ClusterView) -> Answer:
    rivals = see.cluster.rivals
    if rivals is None:
        return SUPPRESSED
    return failed(rivals=join(rivals)) if rivals else passed()


@on_cluster("release-fetched", "configuration", Reads(cluster={"release"}), must=True)
def release_fetched(see: ClusterView) -> Answer:
    release = see.cluster.release
    if release is None:
        return SUPPRESSED
    if release.is_here:
        return passed()
    return failed(trouble=release.trouble) if release.trouble else pending()


@on_cluster("no-hosts-left-behind", "hosts-data", Reads(cluster={"strangers"}))
def no_hosts_left_behind(see: ClusterView) -> Answer:
    strangers = see.cluster.strangers
    if strangers is None:
        return SUPPRESSED
    return failed(hosts=join(sorted(strangers.values()))) if strangers else passed()
