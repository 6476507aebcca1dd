# SPDX-License-Identifier: Apache-2.0
"""Which hosts can be written again, and to which disk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from muster.cli.host_image import find_lost
from muster.cli.host_replace import choose_disk
from muster.config.check import check_folder
from muster.config.document.folder import Directory
from muster.config.resolve import resolve_site
from muster.errors import UserError
from muster.image.ignition.replacement import Lost, replacement_of
from muster.model.host import RootDeviceHints
from muster.model.ignition import Config as Ignition
from muster.model.ignition import tree_of
from muster.model.plan import Plan
from muster.model.replacement import Replacement
from muster.model.site import Environment
from muster.model.wire.inventory import Inventory
from tests.unit.service.hosts import make_disk, make_inventory

EXAMPLES = Path(__file__).parents[3] / "examples"
WANTED = Replacement(id="medium", hostname="master-2", role="master")


def plan_of(name: str) -> Plan:
    site, _ = check_folder(Directory(EXAMPLES / name), Environment())
    return resolve_site(site)


def test_a_control_plane_host_is_found_by_its_name() -> None:
    assert find_lost(plan_of("compact-baremetal"), "master-2").hostname == "master-2"
    assert find_lost(plan_of("two-node-arbiter"), "arbiter-1").hostname == "arbiter-1"
    assert find_lost(plan_of("ha-baremetal"), "master-3").hostname == "master-3.prod.dc1.example.com"


@pytest.mark.parametrize(
    ("example", "name", "says"),
    [
        ("compact-baremetal", "master-9", "no host master-9"),
        ("compact-baremetal", "", "no host"),
        ("ha-baremetal", "worker-1", "is a worker"),
        ("single-node-none", "node1", "the only control-plane host"),
    ],
)
def test_others_cannot_be_replaced_and_that_is_said(example: str, name: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        find_lost(plan_of(example), name)


def test_another_configuration_or_disk_is_another_medium() -> None:
    host = find_lost(plan_of("compact-baremetal"), "master-2")
    lost = Lost(host, tree_of(Ignition()))
    others = [replace(lost, disk="/dev/sdb"), replace(lost, config={"ignition": {"version": "3.4.0"}})]
    ids = {replacement_of(each).id for each in (lost, *others)}
    assert len(ids) == 3
    assert replacement_of(lost) == replacement_of(lost)
    named = replace(host, disk=RootDeviceHints(min_size_gigabytes=100, rotational=False))
    assert replacement_of(replace(lost, host=named)).hints == {"min_size_gigabytes": 100, "rotational": False}


def inventory_with(*names: str) -> Inventory:
    disks = [
        make_disk(name=name, path=f"/dev/{name}", by_id="", by_path="", id=None, serial=name)
        for name in names
    ]
    return make_inventory(1, disks=tuple(disks))


def test_the_disk_is_chosen_as_in_any_installation() -> None:
    there = inventory_with("sda", "sdb")
    assert choose_disk(WANTED, there) == ("/dev/sda", None)
    named: list[dict[str, str | int | bool]] = [{"serial_number": "sdb"}, {"device_name": "/dev/sdb"}]
    for hints in named:
        assert choose_disk(Replacement("medium", "master-2", "master", hints=hints), there) == (
            "/dev/sdb",
            None,
        )


def test_a_disk_that_is_not_there_is_waited_for() -> None:
    wanted = Replacement("medium", "master-2", "master", hints={"serial_number": "OLD"})
    disk, obstacle = choose_disk(wanted, inventory_with("sda"))
    assert disk == ""
    assert obstacle is not None
    assert "(serial_number OLD); the disks here: /dev/sda" in obstacle.trouble
    assert "--disk" in obstacle.fix
    nothing = choose_disk(WANTED, inventory_with())[1]
    assert nothing is not None
    assert nothing.trouble == "no disk is usable; the disks here: none"
