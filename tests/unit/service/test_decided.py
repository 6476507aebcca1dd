# SPDX-License-Identifier: Apache-2.0
"""Values that nobody gave are shown with why they are what they are."""

from __future__ import annotations

from muster.model.wire.cluster import MachineNetwork
from muster.service.decided import decided
from tests.unit.service.hosts import make_cluster, make_host


def test_what_nobody_gave_has_its_reason() -> None:
    cluster = make_cluster(
        machine_networks=(MachineNetwork(cidr="192.0.2.0/24"),),
        machine_networks_reason="the API VIP is in it",
    )
    host = make_host(
        1,
        requested_hostname="a",
        hostname_reason="given",
        suggested_role="master",
        role_reason="it is among the weakest",
        installation_disk_path="/dev/sda",
        disk_reason="it is the smallest",
    )
    found = [(each.of, each.what, each.value, each.reason) for each in decided(cluster, [host])]
    assert found == [
        ("muster", "machine networks", "192.0.2.0/24", "the API VIP is in it"),
        ("a", "role", "master", "it is among the weakest"),
        ("a", "installation disk", "/dev/sda", "it is the smallest"),
    ]


def test_what_somebody_gave_needs_none() -> None:
    given = make_host(1, role="worker", role_reason="given", requested_hostname="a", hostname_reason="given")
    network = make_cluster(machine_networks=(MachineNetwork(cidr="192.0.2.0/24"),))
    assert decided(network, [given]) == ()
