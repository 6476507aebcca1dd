# SPDX-License-Identifier: Apache-2.0
"""What people keep of a cluster."""

from __future__ import annotations

import io
import zipfile
from datetime import UTC, datetime
from ipaddress import ip_address

import msgspec

from muster.model.meeting import Meeting
from muster.model.wire.cluster import ApiVip, IngressVip, MachineNetwork
from muster.model.wire.host import HostProgressInfo
from muster.model.wire.inventory import Interface, Inventory
from muster.model.wire.operators import MonitoredOperator
from muster.service.farewell import farewell_of, hosts_lines, pack
from muster.service.house import House
from muster.service.state import Cluster, Host
from tests.realms import make_cluster, make_host

HOUSE = House("interactive", Meeting(ip_address("192.0.2.10"), "c", "i"))


def cluster(**values: object) -> Cluster:
    named = {"name": "alpha", "base_dns_domain": "example.com", "monitored_operators": ()}
    return msgspec.structs.replace(make_cluster(), **{**named, **values})


def host(address: str, stage: str | None = None, role: str = "master") -> Host:
    inventory = Inventory(interfaces=(Interface(name="eth0", ipv4_addresses=(f"{address}/24",)),))
    progress = HostProgressInfo(current_stage=stage)  # type: ignore[arg-type]
    return msgspec.structs.replace(make_host(), inventory=inventory, progress=progress, role=role)


def test_a_cluster_with_virtual_addresses_is_found_there() -> None:
    vips = {"api_vips": (ApiVip(ip="192.0.2.5"),), "ingress_vips": (IngressVip(ip="192.0.2.6"),)}
    lines = hosts_lines(cluster(**vips), [host("192.0.2.10")])
    assert lines == (
        "192.0.2.5 api.alpha.example.com api-int.alpha.example.com",
        "# 192.0.2.6 NAME.apps.alpha.example.com",
    )


def test_a_single_node_is_found_at_its_own_address_in_the_machine_network() -> None:
    networks = (MachineNetwork(cidr="192.0.2.0/24"),)
    one = cluster(control_plane_count=1, machine_networks=networks)
    assert hosts_lines(one, [host("192.0.2.10")])[0].startswith("192.0.2.10 api.")
    assert hosts_lines(one, [host("198.51.100.10")]) == ()
    assert hosts_lines(cluster(control_plane_count=3, machine_networks=networks), [host("192.0.2.10")]) == ()


def test_a_console_is_named_where_there_is_one() -> None:
    with_console = cluster(
        ingress_vips=(IngressVip(ip="192.0.2.6"),), monitored_operators=(MonitoredOperator(name="console"),)
    )
    found = farewell_of(with_console, (), HOUSE, "https://192.0.2.10:8090")
    assert found.console_url == "https://console-openshift-console.apps.alpha.example.com"
    assert any("console-openshift-console.apps.alpha" in line for line in found.hosts_lines)
    assert farewell_of(cluster(), (), HOUSE, "").console_url == ""
    kubernetes = msgspec.structs.replace(with_console, openshift_version="v1.36.3-amd64")
    found = farewell_of(kubernetes, (), HOUSE, "")
    assert found.console_url == ""
    assert not any("console" in line for line in found.hosts_lines)


def test_the_rendezvous_host_is_told_of_and_whether_it_has_left() -> None:
    others = [host("192.0.2.11", "Done"), host("192.0.2.10", "Waiting for control plane")]
    found = farewell_of(cluster(), others, HOUSE, "").rendezvous
    assert found is not None
    assert (found.ip, found.left) == ("192.0.2.10", False)
    left = farewell_of(cluster(), [host("192.0.2.10", "Rebooting")], HOUSE, "").rendezvous
    assert left is not None
    assert left.left
    assert farewell_of(cluster(), others, House(), "").rendezvous is None


def test_credentials_count_as_taken_only_for_the_name_of_now() -> None:
    taken = ("alpha.example.com", "kubeadmin-password")
    assert farewell_of(cluster(access_taken=taken), (), HOUSE, "").credentials_taken
    assert not farewell_of(cluster(access_taken=taken, name="beta"), (), HOUSE, "").credentials_taken
    assert farewell_of(cluster(kubeconfig_given=True), (), HOUSE, "").credentials_taken


def test_all_of_it_is_one_file_that_only_its_owner_can_read() -> None:
    found = farewell_of(cluster(), (), HOUSE, "https://192.0.2.10:8090")
    moment = datetime(2026, 3, 1, tzinfo=UTC)
    body = pack(found, "kubeadmin", {"kubeconfig": b"k", "kubeadmin-password": b"p"}, moment)
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        assert archive.testzip() is None
        assert archive.read("alpha.example.com/kubeconfig") == b"k"
        assert b"https://192.0.2.10:8090" in archive.read("alpha.example.com/README.txt")
        assert {each.external_attr >> 16 & 0o777 for each in archive.infolist()} == {0o600}
    assert body == pack(found, "kubeadmin", {"kubeconfig": b"k", "kubeadmin-password": b"p"}, moment)
