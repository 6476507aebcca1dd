# SPDX-License-Identifier: Apache-2.0
"""The hosts of a site's own files, as modelled machines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from muster.config.check import check_folder
from muster.config.document.folder import Memory
from muster.config.resolve import resolve_site
from muster.errors import UserError
from muster.lab.plan import LabPlan
from muster.lab.planning import Wishes, plan_lab
from muster.lab.sim.broken import check_troubles
from muster.lab.sim.faults import parse_trouble
from muster.lab.sim.machines import Machine
from muster.lab.sim.of_plan import Make, machines_of_plan, surroundings_of_plan
from muster.lab.sim.world import World
from muster.model.nmstate import NMState
from muster.model.site import Environment
from tests.sites import Shape, build_site
from tests.unit.lab.plans import plan_of
from tests.unit.lab.sim.made import START, Run

BONDED = b"""
apiVersion: v1beta1
kind: AgentConfig
rendezvousIP: 192.0.2.10
hosts:
- hostname: first
  role: master
  interfaces:
  - {name: eno1, macAddress: "52:54:00:00:00:01"}
  - {name: eno2, macAddress: "52:54:00:00:00:02"}
  networkConfig:
    interfaces:
    - {name: eno1, type: ethernet, state: up}
    - {name: eno2, type: ethernet, state: up}
    - name: bond0
      type: bond
      state: up
      link-aggregation: {mode: active-backup, port: [eno1, eno2]}
    - name: bond0.100
      type: vlan
      state: up
      vlan: {base-iface: bond0, id: 100}
      ipv4: {enabled: true, address: [{ip: 192.0.2.10, prefix-length: 24}]}
    routes:
      config:
      - {destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: bond0.100}
"""


def of_shape(shape: Shape, more: dict[str, bytes | None] | None = None) -> tuple[LabPlan, dict[str, NMState]]:
    """The plan of a site, and the static networks of its hosts by name."""
    site, _ = check_folder(Memory({**build_site(shape), **(more or {})}, None), Environment())
    documents = {host.label: host.network for host in site.hosts if host.network}
    return plan_lab(site, resolve_site(site), Wishes()), documents


def addresses(machines: tuple[Machine, ...]) -> Iterator[str]:
    for machine in machines:
        for card in machine.inventory.interfaces or ():
            yield from (*(card.ipv4_addresses or ()), *(card.ipv6_addresses or ()))


@pytest.mark.parametrize("shape", [Shape(), Shape(ipv6=True), Shape(static=False), Shape(masters=1)])
def test_hosts_have_what_the_files_say(shape: Shape) -> None:
    plan, documents = of_shape(shape)
    machines = machines_of_plan(plan, documents)
    assert [machine.name for machine in machines] == [machine.name for machine in plan.machines]
    found = list(addresses(machines))
    assert len(set(found)) == len(found) == len(machines)
    assert f"{plan.rendezvous_ip}/{'64' if shape.ipv6 else '24'}" in found
    for machine, planned in zip(machines, plan.machines, strict=True):
        macs = {card.mac_address for card in machine.inventory.interfaces or ()}
        assert macs == {nic.mac_address for nic in planned.nics}
        assert machine.inventory.routes
        assert [disk.serial for disk in machine.inventory.disks or ()] == [
            disk.serial for disk in planned.disks
        ]
    assert len({machine.host_id for machine in machines}) == len(machines)
    assert machines_of_plan(plan, documents) == machines


def test_a_vlan_on_a_bond() -> None:
    plan, documents = of_shape(Shape(masters=1, platform="none"), {"agent-config.yaml": BONDED})
    (machine,) = machines_of_plan(plan, documents)
    cards = {card.name: card for card in machine.inventory.interfaces or ()}
    assert {name: card.type for name, card in cards.items() if card.type != "physical"} == {
        "bond0": "bond",
        "bond0.100": "vlan",
    }
    assert cards["bond0.100"].mac_address == "52:54:00:00:00:01"
    assert cards["bond0.100"].ipv4_addresses == ("192.0.2.10/24",)
    assert [(route.interface, route.gateway) for route in machine.inventory.routes or ()] == [
        ("bond0.100", "192.0.2.1")
    ]
    faults = [parse_trouble("link:first/eno1"), parse_trouble("link:first/eno2@60s")]
    world = World(surroundings_of_plan(plan, faults), [machine])
    assert [world.reaches_service(machine, START + at) for at in (0, 60)] == [True, False]


def test_more_hosts_than_are_written() -> None:
    plan, documents = of_shape(Shape(workers=1))
    machines = machines_of_plan(plan, documents, count=60)
    assert len({machine.host_id for machine in machines}) == 60
    found = list(addresses(machines))
    assert len(set(found)) == 60
    taken = {*plan.api_vips, *plan.ingress_vips}
    assert not {address.partition("/")[0] for address in found} & taken
    assert len(machines_of_plan(plan, documents, count=2)) == 2
    with pytest.raises(UserError, match="has no room for so many hosts"):
        machines_of_plan(plan, documents, count=300)


def test_disks_are_those_of_the_lab_but_large_enough() -> None:
    disks_of_lab = "[{bus: nvme}, {sizeGiB: 500, wwn: '0x5000c500a1b2c3d4'}]"
    plan = plan_of(lab=f"machines:\n- name: host-0\n  disks: {disks_of_lab}\n")
    disks = machines_of_plan(plan, make=Make(least_disk_gb=130))[0].inventory.disks or ()
    assert [(disk.path, disk.size_bytes, disk.id) for disk in disks] == [
        ("/dev/nvme0n1", 130_000_000_000, "/dev/nvme0n1"),
        ("/dev/sda", 500 << 30, "/dev/disk/by-id/wwn-0x5000c500a1b2c3d4"),
    ]


def test_the_surroundings() -> None:
    plan, documents = of_shape(Shape())
    troubles = [parse_trouble(f"link:{plan.machines[0].name}")]
    machines = machines_of_plan(plan, documents)
    check_troubles(troubles, {machine.name: machine for machine in machines})
    world = World(surroundings_of_plan(plan, troubles), machines)
    broken = world.broken(START)
    assert world.resolve(f"api.{plan.domain}", broken) == plan.api_vips
    assert world.resolve(f"console.apps.{plan.domain}", broken) == plan.ingress_vips
    assert not world.resolve(f"nowhere.{plan.domain}", broken)
    assert not world.reaches_service(machines[0], START)
    assert world.reaches_service(machines[1], START)


def test_they_install() -> None:
    plan, documents = of_shape(Shape(workers=2))
    run = Run(list(machines_of_plan(plan, documents))).go()
    assert set(run.phases.values()) == {"installed"}
