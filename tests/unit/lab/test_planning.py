# SPDX-License-Identifier: Apache-2.0
"""A lab has the machines, cards, disks and networks of its site."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from muster.config.document.folder import Directory, Memory
from muster.errors import UserError
from muster.lab.capacity import Room, advise, check_room, is_crowded
from muster.lab.disks import plan_disks
from muster.lab.network import Ability, choose_network, render_setup
from muster.lab.plan import GIB, LabPlan, dump_plan, parse_plan
from muster.lab.planning import Wishes
from muster.lab.serving import plan_boot, plan_names, plan_offer
from muster.model.host import RootDeviceHints
from muster.model.lab import Bus, Firmware, LabDisk, Medium, Service
from tests.sites import Shape
from tests.unit.lab.plans import plan_of

EXAMPLES = Path(__file__).parent.parent.parent.parent / "examples"


def test_machines_are_the_hosts() -> None:
    plan = plan_of()
    assert [machine.name for machine in plan.machines] == ["host-0", "host-1", "host-2"]
    first = plan.machines[0]
    assert (first.memory_mib, first.cpus, first.firmware, first.medium) == (2048, 2, Firmware.BIOS, Medium.CD)
    assert [nic.mac_address for nic in first.nics] == ["52:54:00:aa:00:00"]
    assert first.addresses == ("192.0.2.10/24",)


def test_hosts_that_only_replicas_tell_of_are_always_the_same() -> None:
    shape = Shape(platform="none", masters=1, static=False)
    folder = Directory(EXAMPLES / "single-node-external-oci")
    plan, again = plan_of(folder=folder), plan_of(folder=folder)
    assert plan == again
    assert [machine.name for machine in plan.machines] == ["master-0"]
    assert plan.machines[0].nics[0].mac_address.startswith("52:54:00:")
    assert plan_of(shape).machines[0].name == "host-0"


@pytest.mark.parametrize("name", ["ha-baremetal", "dual-stack-baremetal", "ztp-manifests", "nutanix"])
def test_a_plan_is_kept_as_json(name: str) -> None:
    plan = plan_of(folder=Directory(EXAMPLES / name))
    assert parse_plan(json.loads(json.dumps(dump_plan(plan)))) == plan


def test_lab_yaml_says_what_the_site_does_not() -> None:
    plan = plan_of(
        lab="""
memoryMiB: 1024
firmware: uefi
medium: usb
services: [dhcp, ntp]
segments:
  - name: far
    cards: [host-1/eno1]
machines:
  - name: host-2
    memoryMiB: 512
    cpus: 1
    firmware: bios
    disks:
      - sizeGiB: 30
        wwn: 0x5002538e40a2b3c4
        rotational: true
      - serial: SECOND
faults: [link:host-0/eno1]
"""
    )
    one, two, three = plan.machines
    assert (one.memory_mib, one.firmware, three.memory_mib, three.firmware) == (1024, "uefi", 512, "bios")
    assert [machine.nics[0].segment for machine in plan.machines] == ["main", "far", "main"]
    assert [segment.bridge for segment in plan.segments] == ["lab0", "lab1"]
    assert [(disk.bus, disk.size_bytes // GIB, disk.serial) for disk in three.disks] == [
        (Bus.SCSI, 30, three.disks[0].serial),
        (Bus.VIRTIO, 20, "SECOND"),
    ]
    assert str(plan.faults[0]) == "link:host-0/eno1"
    assert two.medium is Medium.USB
    lines = render_setup(plan)
    assert "link set m1n0 master lab1" in lines
    assert "addr add 192.0.2.1/24 dev lab0" in lines


def test_only_some() -> None:
    plan = plan_of(wishes=Wishes(only=("host-1",), memory_mib=300, name="other"))
    assert [machine.name for machine in plan.machines] == ["host-1"]
    assert (plan.name, plan.machines[0].memory_mib, plan.machines[0].nics[0].tap) == ("other", 300, "m1n0")
    with pytest.raises(UserError, match="no host nobody"):
        plan_of(wishes=Wishes(only=("nobody",)))
    with pytest.raises(UserError, match="name of a lab"):
        plan_of(wishes=Wishes(name="../x"))


@pytest.mark.parametrize(
    ("hints", "bus", "count"),
    [
        ({}, Bus.VIRTIO, 1),
        ({"device_name": "/dev/sda"}, Bus.SCSI, 1),
        ({"device_name": "/dev/vdb"}, Bus.VIRTIO, 2),
        ({"device_name": "/dev/nvme0n1"}, Bus.NVME, 1),
        ({"device_name": "/dev/disk/by-path/pci-0000:00:17.0-ata-1"}, Bus.SATA, 1),
        ({"wwn": "0x5002538e40a2b3c4"}, Bus.SCSI, 1),
        ({"rotational": False}, Bus.SCSI, 1),
        ({"serial_number": "S" * 30}, Bus.SCSI, 1),
        ({"hctl": "0:0:1:0"}, Bus.SCSI, 2),
    ],
)
def test_disks_match_the_hints(hints: dict[str, Any], bus: Bus, count: int) -> None:
    disks = plan_disks("a", RootDeviceHints(**hints), ())
    assert (disks[-1].bus, len(disks)) == (bus, count)
    assert len({disk.serial for disk in disks}) == count


def test_a_disk_is_just_above_what_is_asked_for() -> None:
    assert plan_disks("a", RootDeviceHints(min_size_gigabytes=10), ())[0].size_bytes == 20 * GIB
    large = plan_disks("a", RootDeviceHints(min_size_gigabytes=120), ())[0].size_bytes
    assert 120 * 1000**3 < large < 125 * 1000**3


def test_disks_that_cannot_be_made() -> None:
    with pytest.raises(UserError, match="WWN"):
        plan_disks("a", RootDeviceHints(wwn="not hexadecimal"), ())
    with pytest.raises(UserError, match="virtio disk does not report"):
        plan_disks("a", None, (LabDisk(bus=Bus.VIRTIO, wwn="0x1"),))
    with pytest.raises(UserError, match="21 characters"):
        plan_disks("a", None, (LabDisk(serial="S" * 21),))


@pytest.mark.parametrize(
    ("name", "legs"),
    [
        ("compact-baremetal", [("192.168.10.1/24", 0), ("192.168.10.53/24", 0)]),
        ("linux-bridge-vlan", [("10.90.0.1/24", 120), ("10.90.0.53/24", 120)]),
        ("ha-baremetal", [("10.10.0.1/24", 110), ("10.10.0.53/24", 110), ("10.10.0.54/24", 110)]),
        ("single-node-ipv6", [("2001:db8:10::1/64", 0), ("2001:db8:10::53/64", 0)]),
        ("ha-baremetal-dhcp", [("10.20.0.254/24", 0)]),
    ],
)
def test_the_lab_stands_where_gateway_and_name_server_would(name: str, legs: list[tuple[str, int]]) -> None:
    plan = plan_of(folder=Directory(EXAMPLES / name))
    assert [(leg.address, leg.vlan) for leg in plan.legs] == legs


def test_what_services_are_told() -> None:
    plan = plan_of(folder=Directory(EXAMPLES / "ha-baremetal-dhcp"), lab="services: [dhcp, dns]\n")
    offer = plan_offer(plan, None)
    assert offer.dhcp
    assert offer.reservations[0].addresses == (plan.rendezvous_ip,)
    assert [each.addresses for each in offer.reservations[1:]] == [()] * 4
    names = {record.name: record.addresses for record in plan_names(plan).records}
    assert names[f"api.{plan.domain}"] == plan.api_vips
    static = plan_of(folder=Directory(EXAMPLES / "single-node-none"))
    assert {record.addresses for record in plan_names(static).records} == {("192.0.2.10",)}


def test_a_boot_from_the_network_is_served_where_the_site_says(tmp_path: Path) -> None:
    folder = Directory(EXAMPLES / "compact-baremetal")
    agent = folder.read("agent-config.yaml").decode()

    def with_url(url: str) -> LabPlan:
        text = agent.replace("rendezvousIP:", f"bootArtifactsBaseURL: {url}\nrendezvousIP:")
        return plan_of(folder=Memory({"agent-config.yaml": text.encode()}, folder), lab="medium: pxe\n")

    plan = with_url("http://192.168.10.2:8080/boot")
    assert plan.legs[-1].address == "192.168.10.2/24"
    with pytest.raises(UserError, match="no script for iPXE"):
        plan_boot(plan, tmp_path)
    (tmp_path / "agent.x86_64.ipxe").touch()
    boot = plan_boot(plan, tmp_path)
    assert boot is not None
    assert (boot.url, boot.path) == ("http://192.168.10.2:8080/boot/agent.x86_64.ipxe", "boot")
    root = plan_boot(with_url("http://192.168.10.1"), tmp_path)
    assert root is not None
    assert root.url == "http://192.168.10.1:80/agent.x86_64.ipxe"
    with pytest.raises(UserError, match="no place where the lab"):
        plan_boot(with_url("https://mirror.example.com/boot"), tmp_path)
    assert plan_boot(plan_of(), tmp_path) is None


def test_fifty_hosts_on_a_small_machine_are_refused_with_the_arithmetic() -> None:
    plan = plan_of(Shape(masters=3, workers=47))
    with pytest.raises(UserError) as error:
        check_room(plan, Room(memory_mib=7000, disk_bytes=1 << 40, cpus=2), "tcg")
    assert error.value.message == (
        "the lab needs 115 GiB of memory, and 6.8 GiB are free:"
        " 50 x 2048 MiB for 50 machine(s), and 300 MiB for the QEMU of each"
    )
    assert error.value.hint.startswith("2 of them would fit")
    with pytest.raises(UserError, match="disk space"):
        check_room(plan, Room(memory_mib=1 << 20, disk_bytes=10 * GIB, cpus=2), "kvm")
    check_room(plan, Room(memory_mib=1 << 20, disk_bytes=1 << 40, cpus=2), "kvm")
    assert "about 50 times" in advise(plan, Room(0, 0, 2))
    assert not advise(plan, Room(0, 0, 64))
    assert (is_crowded(plan, 99), is_crowded(plan, 100)) == (True, False)


def test_networks_without_root() -> None:
    poor = Ability(("only root may make network namespaces",))
    one, three = plan_of(wishes=Wishes(only=("host-0",))), plan_of()
    assert choose_network(None, three, Ability())[0] == "bridge"
    kind, words = choose_network(None, one, poor)
    assert kind == "user"
    assert "only root" in words
    with pytest.raises(UserError, match="only root") as error:
        choose_network(None, three, poor)
    assert "--network user" in error.value.hint
    with pytest.raises(UserError, match="connects one machine"):
        choose_network("user", three, Ability())


def test_a_store_for_the_registry() -> None:
    plan = plan_of(lab="registryStore: ../release\n", wishes=Wishes(site="/srv/site"))
    assert plan.services == (Service.REGISTRY,)
    assert plan.registry_store == "/srv/site/../release"
    assert parse_plan(json.loads(json.dumps(dump_plan(plan)))) == plan
    both = plan_of(lab="services: [registry, ntp]\nregistryStore: /srv/release\n")
    assert both.services == (Service.REGISTRY, Service.NTP)
    assert both.registry_store == "/srv/release"
    assert plan_of(lab="services: [registry]\n").registry_store == ""
