# SPDX-License-Identifier: Apache-2.0
"""Nodes agree on the time: with the site's servers, or without any."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_network

from muster.model.host import Role
from muster.release.node.clock import clock, render_chrony
from muster.release.node.cluster import Cluster, Member
from tests.clusters import ARBITER, CLUSTERS, SINGLE, THREE, WITH_WORKER


def lines(cluster: Cluster, host: Member) -> list[str]:
    return render_chrony(cluster, host).splitlines()


def test_servers_of_the_site_are_the_only_ones() -> None:
    cluster = replace(THREE, time_servers=("192.0.2.1", "ntp.example.com"))
    for host in cluster.members:
        found = lines(cluster, host)
        assert [each for each in found if each.startswith("server")] == [
            "server 192.0.2.1 iburst",
            "server ntp.example.com iburst",
        ]
        assert not [each for each in found if each.startswith(("local", "allow"))]
        (file,) = clock(cluster, host).files
        assert file.path == "/etc/chrony.conf"


def test_without_any_the_control_plane_agrees_and_the_others_follow() -> None:
    for given in (THREE, WITH_WORKER, ARBITER):
        cluster = replace(given, machines=(ip_network("192.0.2.0/24"),))
        for host in cluster.members:
            found = lines(cluster, host)
            asked = {each.split()[1] for each in found if each.startswith("server")}
            assert asked == {str(each.addresses[0]) for each in cluster.control_plane if each != host}
            is_source = host.role is Role.MASTER
            assert ("local stratum 10 orphan" in found) == is_source
            assert ("allow 192.0.2.0/24" in found) == is_source
            assert "allow" not in found  # That would be everybody.


def test_a_host_that_is_alone_asks_nobody_and_tells_nobody() -> None:
    assert clock(SINGLE, SINGLE.first).files == ()


def test_all_clusters_of_the_tests_are_named_by_addresses() -> None:
    for cluster in CLUSTERS.values():
        for host in cluster.members:
            assert "None" not in render_chrony(cluster, host)
