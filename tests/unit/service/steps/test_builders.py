# SPDX-License-Identifier: Apache-2.0
"""What is in a step."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from muster.model.wire.cluster import ApiVip, DiskEncryption, IgnitionEndpoint, IngressVip, MachineNetwork
from muster.model.wire.infra_env import HostStaticNetworkConfig
from muster.model.wire.inventory import Boot, Cpu, Interface
from muster.service.realm import Realm
from muster.service.state import Host, InfraEnv
from muster.service.steps import install, machine, network
from muster.service.steps.scene import Means, ReleaseImages, Scene
from tests.unit.service.hosts import (
    CLUSTER,
    INFRA_ENV,
    NOW,
    all_told,
    host_id,
    mac,
    make_cluster,
    make_disk,
    make_host,
    make_inventory,
    make_realm,
    tell_inventory,
)

IMAGES = ReleaseImages("registry.example.com:5000/release@sha256:1", "installer:1", "controller:1", "mco:1")
INFRA = InfraEnv(id=INFRA_ENV, name="e", created_at=NOW, updated_at=NOW)


def scene_of(realm: Realm, number: int = 1, **more: Any) -> Scene:
    means = Means(
        chance=lambda: "0badcafe", images=IMAGES, open_secret=lambda subject, field, sealed: sealed[::-1]
    )
    return Scene(realm, realm.hosts[host_id(number)], more.get("infra_env"), NOW, means)


def body(args: tuple[str, ...] | None) -> Any:
    assert args is not None
    return msgspec.json.decode(args[0])


def test_names_and_one_that_must_not_exist() -> None:
    names = [
        each["domain_name"] for each in body(network.domain_resolution(scene_of(all_told(1))))["domains"]
    ]
    assert names == [
        "api.muster.example.com",
        "api-int.muster.example.com",
        "console-openshift-console.apps.muster.example.com",
        "validateNoWildcardDNS.muster.example.com",
        "validateNoWildcardDNS.muster.example.com.",
        "registry.example.com",
    ]
    assert network.domain_resolution(scene_of(all_told(1, base_dns_domain=""))) is None


@pytest.mark.parametrize("image", ["192.0.2.1:5000/x", "[2001:db8::1]:5000/x", "localhost/x"])
def test_an_address_is_not_resolved(image: str) -> None:
    assert network._registry(image) == ""


def test_time_comes_from_the_cluster_or_from_where_the_host_does() -> None:
    infra_env = msgspec.structs.replace(INFRA, additional_ntp_sources="b.example.com")
    realm = all_told(1)
    assert body(network.ntp_synchronizer(scene_of(realm, infra_env=infra_env))) == {
        "ntp_source": "b.example.com"
    }
    own = all_told(1, ntp_sources="a.example.com", additional_ntp_source="c.example.com")
    assert body(network.ntp_synchronizer(scene_of(own, infra_env=infra_env))) == {
        "ntp_source": "a.example.com"
    }


def test_virtual_addresses() -> None:
    vips = {"api_vips": (ApiVip(ip="192.0.2.5"),), "ingress_vips": (IngressVip(ip="192.0.2.6"),)}
    assert body(network.verify_vips(scene_of(all_told(1, **vips)))) == [
        {"vip": "192.0.2.5", "vip_type": "api"},
        {"vip": "192.0.2.6", "vip_type": "ingress"},
    ]
    assert network.verify_vips(scene_of(all_told(1))) is None
    assert network.verify_vips(scene_of(all_told(1, **vips, user_managed_networking=True))) is None


def small_nets(hosts: int) -> Realm:
    realm = make_realm(hosts)
    for number in range(1, hosts + 1):
        nic = Interface(
            name="eth0",
            mac_address=mac(number),
            ipv4_addresses=(f"192.0.2.{number}/24", f"198.18.0.{number}/16"),
            ipv6_addresses=(f"2001:db8::{number:x}/64",),
        )
        tell_inventory(realm, number, interfaces=(nic,))
    return realm


def test_free_addresses_of_small_subnets_by_a_few_hosts() -> None:
    realm = small_nets(12)
    assert body(network.free_network_addresses(scene_of(realm))) == ["192.0.2.0/24"]
    asked = [n for n in range(1, 13) if network.free_network_addresses(scene_of(realm, n)) is not None]
    assert asked == [1, 2, 3, 4, 5, 6, 7, 8]


def test_leases_for_macs_that_follow_from_the_cluster() -> None:
    networks = (MachineNetwork(cidr="198.18.0.0/16"),)
    realm = all_told(1, vip_dhcp_allocation=True, machine_networks=networks)
    request = body(network.dhcp_lease_allocate(scene_of(realm)))
    assert request["interface"] == "eth0"
    assert request == body(network.dhcp_lease_allocate(scene_of(realm)))
    assert request["api_vip_mac"] != request["ingress_vip_mac"]
    assert int(request["api_vip_mac"][:2], 16) & 3 == 2, "of our own, and of one host"
    assert network.dhcp_lease_allocate(scene_of(all_told(1))) is None


def test_servers_that_unlock_disks() -> None:
    encryption = DiskEncryption(enable_on="masters", mode="tang", tang_servers='[{"url":"http://t"}]')
    request = body(network.tang_connectivity_check(scene_of(all_told(1, disk_encryption=encryption))))
    assert request == {"tang_servers": '[{"url":"http://t"}]'}
    assert network.tang_connectivity_check(scene_of(all_told(1))) is None


def test_where_the_configuration_comes_from() -> None:
    realm = all_told(
        1, ignition_endpoint=IgnitionEndpoint(url="https://192.0.2.1/config/", ca_certificate="Y2E=")
    )
    realm.hosts[host_id(1)] = msgspec.structs.replace(
        realm.hosts[host_id(1)],
        ignition_endpoint_token="nekot",
        ignition_endpoint_http_headers='{"X-A":"b"}',
        machine_config_pool_name="infra",
    )
    assert body(network.api_vip_connectivity_check(scene_of(realm))) == {
        "url": "https://192.0.2.1/config/infra",
        "ca_certificate": "Y2E=",
        "ignition_endpoint_token": "token",
        "request_headers": [{"key": "X-A", "value": "b"}],
    }
    six = all_told(1, api_vips=(ApiVip(ip="2001:db8::5"),))
    request = body(network.api_vip_connectivity_check(scene_of(six)))
    assert request["url"] == "http://[2001:db8::5]:22624/config/worker"


def test_a_disk_with_something_to_keep_is_not_measured() -> None:
    host = make_host(1, installation_disk_path="/dev/sda", inventory=make_inventory(1))
    assert machine.needs_disk_speed(host)
    kept = msgspec.structs.replace(host, installer_args='["--save-partlabel","data"]')
    assert not machine.needs_disk_speed(kept)
    running = make_inventory(1, boot=Boot(device_type="persistent"))
    assert not machine.needs_disk_speed(msgspec.structs.replace(host, inventory=running))
    assert not machine.needs_disk_speed(msgspec.structs.replace(host, installation_disk_path=""))


def args_of(host: Host, **cluster: Any) -> list[str]:
    networks = (MachineNetwork(cidr="198.18.0.0/16"),)
    return install.installer_args(host, make_cluster(machine_networks=networks, **cluster), None)


def with_disk(kind: str, **more: Any) -> Host:
    disk = make_disk(drive_type=kind)
    inventory = make_inventory(1, disks=(disk,))
    return make_host(1, inventory=inventory, installation_disk_id=disk.by_path, **more)


def test_dhcp_where_the_machine_network_is() -> None:
    assert args_of(with_disk("SSD")) == ["--append-karg", "ip=52-54-00-00-00-01:dhcp"]


@pytest.mark.parametrize(
    ("kind", "karg"),
    [("Multipath", "rd.multipath=default"), ("iSCSI", "rd.iscsi.firmware=1"), ("RAID", "rd.md=1")],
)
def test_what_a_kind_of_disk_asks_for(kind: str, karg: str) -> None:
    args = args_of(with_disk(kind))
    assert args[args.index(karg) - 1] == "--append-karg"
    again = args_of(with_disk(kind, installer_args=msgspec.json.encode(["--append-karg", karg]).decode()))
    assert again.count(karg) == 1


def test_what_people_say_about_the_network_stands() -> None:
    own = ["--append-karg", "ip=192.0.2.9::192.0.2.1:24:::none"]
    assert args_of(with_disk("SSD", installer_args=msgspec.json.encode(own).decode())) == own
    static = msgspec.structs.replace(
        INFRA, static_network_config=(HostStaticNetworkConfig(network_yaml="{}"),)
    )
    assert install.installer_args(with_disk("SSD"), make_cluster(), static) == ["--copy-network"]


def test_a_mainframe_keeps_its_devices() -> None:
    boot = Boot(command_line="quiet rd.znet=qeth,0.0.bdf0 rd.dasd=0.0.5987 root=live")
    inventory = make_inventory(1, cpu=Cpu(architecture="s390x"), boot=boot, interfaces=())
    args = args_of(make_host(1, inventory=inventory))
    assert args == ["--append-karg", "rd.znet=qeth,0.0.bdf0", "--append-karg", "rd.dasd=0.0.5987"]


def test_the_step_that_installs() -> None:
    host = with_disk(
        "SSD",
        install_step="install-00000001",
        suggested_role="master",
        installation_disk_path="/dev/sda",
        disks_to_be_formatted=("a", "b"),
        skip_formatting_disks=("b",),
    )
    cluster = make_cluster(http_proxy="http://p.example.com", no_proxy="*")
    step = install.make_install_step(host, cluster, None, IMAGES)
    assert (step.step_type, step.step_id) == ("install", "install-00000001")
    request = body(step.args)
    assert request["cluster_id"] == CLUSTER
    assert request["role"] == "master"
    assert request["boot_device"] == "/dev/sda"
    assert request["disks_to_format"] == ["a"]
    assert request["proxy"] == {"http_proxy": "http://p.example.com", "no_proxy": "*"}
    assert request["mco_image"] == "mco:1"
    assert "must_gather_image" not in request
    first = install.make_install_step(msgspec.structs.replace(host, bootstrap=True), cluster, None, IMAGES)
    assert body(first.args)["role"] == "bootstrap"


def test_logs_of_the_control_plane_by_the_one_that_began() -> None:
    realm = all_told(4)
    realm.hosts[host_id(1)] = msgspec.structs.replace(realm.hosts[host_id(1)], bootstrap=True)
    request = body(install.logs_gather(scene_of(realm)))
    assert request["bootstrap"] is True
    assert request["master_ips"] == ["198.18.0.2", "198.18.0.3", "198.18.0.4"]
    other = body(install.logs_gather(scene_of(realm, 4)))
    assert "master_ips" not in other
