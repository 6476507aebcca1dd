# SPDX-License-Identifier: Apache-2.0
"""The real service on a modelled clock: whole installations, and what troubles do to them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest

from muster.lab.sim.port import Refused, Unreachable
from muster.lab.sim.simulation import Simulation
from muster.model.wire.cluster import V2ClusterUpdateParams
from muster.service.release_driver import ClusterOrder
from muster.service.store.memory import MemoryStore
from tests.sites import Shape
from tests.unit.lab.sim.sites import run_of, simulation_of

OTHER_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA other@example.com"


def log_of(run: Simulation) -> bytes:
    return msgspec.json.encode([each.event for each in run.course.store.log()])


@pytest.mark.parametrize(
    "shape",
    [
        Shape(),
        Shape(workers=2, static=False),
        Shape(masters=5, ipv6=True),
        Shape(masters=1, platform="none"),
        Shape(roles=False, workers=1),
    ],
)
def test_a_site_is_installed(shape: Shape) -> None:
    run = run_of(shape)
    assert run.outcome == "installed", run.cluster.status_info
    assert {host.status for host in run.hosts} == {"installed"}
    assert run.cluster.kubeconfig
    for loop in run.loops:
        host = next(each for each in run.hosts if each.id == loop.host.id)
        assert {each.path for each in loop.host.written} == {host.installation_disk_path}
        assert list(loop.host.started) == [host.install_step]


def test_the_same_seed_gives_the_same_run() -> None:
    assert log_of(run_of(Shape(), seed=1)) == log_of(run_of(Shape(), seed=1))
    assert log_of(run_of(Shape(), seed=1)) != log_of(run_of(Shape(), seed=2))


def test_names_roles_and_disks_are_those_of_the_files() -> None:
    run = run_of(Shape(workers=1))
    told = {host.requested_hostname: host.role for host in run.hosts}
    assert told == {"host-0": "master", "host-1": "master", "host-2": "master", "host-3": "worker"}
    first = next(host for host in run.hosts if host.bootstrap)
    assert first.requested_hostname == "host-0"


@pytest.mark.parametrize("moment", [20.0, 95.0, 120.0, 150.0, 400.0, 900.0])
def test_a_service_that_is_killed_goes_on(moment: float) -> None:
    run = simulation_of(Shape())
    run.scheduler.at(run.start + moment, lambda _: run.service.kill())
    run.scheduler.at(run.start + moment + 30.0, lambda _: run.service.restart())
    run.run()
    assert run.outcome == "installed", run.cluster.status_info
    assert all(len(loop.host.started) == 1 and not loop.host.refused for loop in run.loops)
    store = run.course.store
    assert isinstance(store, MemoryStore)
    assert {realm.id: realm.hosts for realm in store.load()} == {
        id: realm.hosts for id, realm in run.service.service.engine.realms.items()
    }


def test_nobody_answers_while_it_is_down() -> None:
    run = simulation_of(Shape())
    run.service.kill()
    with pytest.raises(Unreachable):
        run.service.instructions(run.course.machines[0].host_id, 0)
    run.service.restart()
    with pytest.raises(Refused) as refused:
        run.service.instructions(run.course.machines[0].host_id, 0)
    assert refused.value.status == 404


@pytest.mark.parametrize(
    "fault",
    [
        "media:host-1@90s..150s",
        "disk-full:host-1@0s..4m",
        "link:host-1@60s..5m",
        "power:host-2@7m..9m",
        "image:*@0s..3m",
        "duplicate-ip:host-0@0s..5m",
        "vip-in-use:192.0.2.210@0s..5m",
    ],
)
def test_what_is_mended_does_not_stay_in_the_way(fault: str) -> None:
    run = run_of(Shape(), fault)
    assert run.outcome == "installed", [host.status_info for host in run.hosts]


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        ("link:host-1", "insufficient"),
        ("image:*", "ready"),
        ("loss:host-1=60%", "insufficient"),
        ("lost:host-1=rebooting", "installing-pending-user-action"),
    ],
)
def test_what_is_not_mended_is_waited_for(fault: str, status: str) -> None:
    run = run_of(Shape(), fault)
    assert (run.outcome, run.cluster.status) == ("waits", status)
    assert run.scheduler.now - run.start < 6 * 3600


def test_a_host_that_loses_power_while_it_is_written_is_installed_anew() -> None:
    run = run_of(Shape(), "power:host-2@130s..9m")
    assert run.outcome == "installed", [host.status_info for host in run.hosts]
    assert sorted(host.restarts for host in run.hosts) == [0, 0, 1]


def test_files_are_made_of_what_was_asked_for_last() -> None:
    """Cancelled, changed and begun again while the files are being made."""
    run = simulation_of(Shape())
    orders: list[ClusterOrder] = []
    driver = run.service.service.around.driver
    prepare = driver.prepare

    def remember(order: ClusterOrder) -> Mapping[str, bytes]:
        orders.append(order)
        return prepare(order)

    driver.prepare = remember  # type: ignore[method-assign]
    ids = {"cluster_id": run.conductor.cluster_id}

    def begin_anew(_: float) -> None:
        assert run.cluster.status == "preparing-for-installation"
        run.service.ask("V2CancelInstallation", **ids)
        run.service.ask("V2UpdateCluster", V2ClusterUpdateParams(ssh_public_key=OTHER_KEY), **ids)
        run.service.ask("v2InstallCluster", **ids)

    began: list[float] = []

    def look(_: object) -> None:
        if run.cluster.status == "preparing-for-installation" and not began:
            began.append(run.scheduler.now)
            run.scheduler.after(1.0, begin_anew)

    run.service.watch(look)
    run.run()
    assert run.outcome == "installed"
    assert [order.cluster.ssh_public_key == OTHER_KEY for order in orders] == [False, True]
    kept = run.course.store.document(run.cluster.id, run.cluster.id, "file/install-config.yaml")
    assert OTHER_KEY.encode() in (kept or b"")
