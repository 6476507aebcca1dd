# SPDX-License-Identifier: Apache-2.0
"""What hosts need: by product, version and role, and what operators add."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from muster.model.wire.inventory import Cpu, SystemVendor
from muster.model.wire.operators import MonitoredOperator
from muster.service.validations.fitness import members
from muster.service.validations.operators import Added, Extra, Operator, Part, forget, register
from muster.service.validations.registry import HOST, Reads, passed
from muster.service.validations.requirements import (
    Requirement,
    by_role,
    least_of,
    pick,
    preflight_requirements,
    product_of,
    requirement_of,
)
from muster.service.validations.run import affected_of_host, judge_host, validations
from tests.unit.service.validations.making import cluster, host, host_view, inventory

FIGURES = {
    "default": {"master": {"cpu_cores": 4, "ram_mib": 100}, "worker": {"cpu_cores": 2, "ram_mib": 50}},
    "versions": [
        {"version": "4.7.1", "master": {"cpu_cores": 9}},
        {"min_version": "4.9", "master": {"cpu_cores": 5}},
        {"min_version": "4.12", "master": {"cpu_cores": 6}},
    ],
}


@pytest.mark.parametrize(
    ("version", "cores"),
    [("4.7.1", 9), ("4.7.2", 4), ("4.9.0", 5), ("4.11.30", 5), ("4.12.0-rc.1", 6), ("4.20", 6), ("", 4)],
)
def test_a_version_takes_its_own_figures_else_the_highest_below_over_the_default(
    version: str, cores: int
) -> None:
    found = pick(FIGURES, version)["master"]
    assert (found.cpu_cores, found.ram_mib) == (cores, 100)
    assert pick(FIGURES, version)["worker"] == Requirement(cpu_cores=2, ram_mib=50)


@pytest.mark.parametrize(
    ("version", "product"),
    [
        ("4.22.0", "openshift"),
        ("5.0", "openshift"),
        ("v1.36.3", "kubernetes"),
        ("1.36.3", "kubernetes"),
        ("", "openshift"),
    ],
)
def test_products_are_told_apart_by_version(version: str, product: str) -> None:
    assert product_of(version) == product


def test_figures_of_openshift() -> None:
    roles = by_role("4.21.0")
    assert roles["master"] == Requirement(4, 16384, 100, 10, 100, 0)
    assert roles["arbiter"] == Requirement(2, 8192, 50, 10, 1000, 0)
    assert roles["worker"] == Requirement(2, 8192, 100, 10, 1000, 10)
    assert roles["edge-worker"] == Requirement(2, 8192, 15, 10)
    assert roles["single-node"] == Requirement(8, 16384, 100, 10)
    assert by_role("4.22.0-ec.1")["single-node"].cpu_cores == 4


def test_kubernetes_asks_for_less() -> None:
    for role, ours in by_role("1.36.3").items():
        theirs = by_role("4.22.0")[role]
        assert ours.ram_mib < theirs.ram_mib
        assert ours.cpu_cores <= theirs.cpu_cores
    assert by_role("1.36.3")["master"].ram_mib == 2048


def test_the_role_that_counts() -> None:
    assert requirement_of(host(role="worker"), cluster()).cpu_cores == 2
    assert requirement_of(host(role="auto-assign", suggested_role="master"), cluster()).cpu_cores == 4
    assert requirement_of(host(suggested_role="auto-assign"), None).cpu_cores == 2
    assert requirement_of(host(role="arbiter"), cluster()).disk_gb == 50
    assert requirement_of(host(), cluster(control_plane_count=1)).cpu_cores == 8
    card = inventory(system_vendor=SystemVendor(product_name="BlueField SoC"))
    assert requirement_of(host(role="worker", inventory=card), cluster()).disk_gb == 15
    assert least_of(cluster()) == Requirement(2, 8192, 100)
    assert least_of(None) == least_of(cluster())


def test_preflight_shows_the_figures() -> None:
    found = preflight_requirements(cluster()).ocp
    assert found is not None
    assert found.master is not None
    assert found.master.quantitative is not None
    assert (found.master.quantitative.cpu_cores, found.master.quantitative.disk_size_gb) == (4, 100)
    single = preflight_requirements(cluster(control_plane_count=1)).ocp
    assert single is not None
    assert single.master is not None
    assert single.master.quantitative is not None
    assert single.master.quantitative.cpu_cores == 8


@pytest.fixture
def operator() -> Iterator[Operator]:
    """An operator that needs cores, from version 4.16 on only one."""
    adds = (
        Added("master", (4, 0), Extra(cpu_cores=4, ram_mib=1200)),
        Added("master", (4, 16), Extra(cpu_cores=1, ram_mib=100)),
    )
    made = Operator("lvm", adds)
    part = Part("lvm-requirements-satisfied", lambda _see: passed(), Reads({"inventory"}))
    register(made, of_host=part)
    yield made
    forget(made, part.id)


def test_operators_add_to_what_a_host_needs(operator: Operator) -> None:
    assert operator.needs("worker", (4, 20)) == Extra()
    chosen = (MonitoredOperator(name="lvm"), MonitoredOperator(name="console"))
    for version, cores, status in (
        ("4.21.0", 4, "failure"),
        ("4.21.0", 5, "success"),
        ("4.15.0", 7, "failure"),
        ("4.15.0", 8, "success"),
    ):
        view = host_view(
            inventory=inventory(cpu=Cpu(count=cores)),
            cluster={"monitored_operators": chosen, "openshift_version": version},
        )
        assert HOST["has-cpu-cores-for-role"].check(view).status == status


def test_an_operator_brings_its_validation(operator: Operator) -> None:
    assert operator.name == "lvm"
    id = "lvm-requirements-satisfied"
    assert id in affected_of_host(host={"inventory"})
    assert id in members("sufficient")
    assert HOST[id].category == "operators"
    ids = [each.id for each in validations("host")]
    assert ids.index("container-images-available") < ids.index(id) < ids.index("mtu-valid")


def test_no_operator_is_left_behind() -> None:
    assert "lvm-requirements-satisfied" not in {each.id for each in judge_host(host_view())}
