# SPDX-License-Identifier: Apache-2.0
"""Installations of modelled hosts: their stages, whom they wait for, and which disks they write."""

from __future__ import annotations

import msgspec
import pytest

from muster.lab.sim.host import SimHost
from muster.model.wire.steps import InstallCmdRequest, Step
from tests.unit.lab.sim.made import START, Run, host_of, machines_of
from tests.unit.lab.sim.small_service import CLUSTER, INFRA_ENV, SmallService, encode

KINDS = ("nvme-only", "kvm-libvirt", "vmware-vsphere", "dell-r650-perc", "openstack")
START_STAGES = ["Starting installation", "Installing", "Writing image to disk"]
END_STAGES = ["Configuring", "Joined", "Done"]


def roles_of(run: Run) -> dict[str, str]:
    """What each host became, by its name."""
    return {loop.host.name: run.service.install_of(loop.host.id).role for loop in run.loops}


def by_role(run: Run, role: str) -> SimHost:
    return next(loop.host for loop in run.loops if run.service.install_of(loop.host.id).role == role)


def test_a_cluster_comes_to_be() -> None:
    run = Run(machines_of(*KINDS)).go()
    assert set(run.phases.values()) == {"installed"}
    assert sorted(roles_of(run).values()) == ["bootstrap", "master", "master", "worker", "worker"]
    expected = {
        "bootstrap": [
            "Waiting for control plane",
            "Waiting for bootkube",
            "Waiting for controller",
            "Rebooting",
        ],
        "master": ["Rebooting"],
        "worker": ["Waiting for control plane", "Rebooting", "Waiting for ignition"],
    }
    for loop in run.loops:
        role = roles_of(run)[loop.host.name]
        assert run.service.stages_of(loop.host.id) == [*START_STAGES, *expected[role], *END_STAGES]
        percents = [each.progress_info for each in run.service.stages[loop.host.id]][3:23]
        assert percents == [f"{percent}%" for percent in range(5, 101, 5)]
        assert [each.exit_code for each in run.service.replies[loop.host.id]] == [None] * 3


def test_only_the_disk_of_the_plan_is_written() -> None:
    run = Run(machines_of(*KINDS)).go()
    for loop in run.loops:
        wanted = loop.host.body.find_disk(run.service.install_of(loop.host.id).boot_device)
        assert wanted
        assert [(each.path, each.why) for each in loop.host.written] == [(wanted.path, "image")]
        assert len(loop.host.started) == 1


def test_the_same_seed_is_the_same_run() -> None:
    def story(seed: int) -> object:
        run = Run(machines_of(*KINDS), "loss:kvm-libvirt-1=30%@20s..5m", seed=seed).go()
        return run.clock.now, run.clock.calls, dict(run.service.replies), dict(run.service.stages)

    assert story(7) == story(7)
    assert story(7) != story(8)


def install(host: SimHost, step_id: str = "install-1", /, **more: object) -> Step:
    wish: dict[str, object] = {
        "cluster_id": CLUSTER,
        "infra_env_id": INFRA_ENV,
        "host_id": host.id,
        "role": "bootstrap",
        "boot_device": (host.body.machine.inventory.disks or ())[0].id,
        "controller_image": "c",
        "installer_image": "i",
        "control_plane_count": 1,
    }
    return Step(step_type="install", step_id=step_id, args=(encode(wish | more),))


def play(host: SimHost, step: Step) -> tuple[list[str], int | None]:
    """The stages of a host that is alone, and the exit status of its installer."""
    stages: list[str] = []
    status: int | None = -1
    answer, now = host.answer(step, START), START
    for _ in range(50):
        stages += [each.stage for each in answer.progress]
        for each in answer.progress:
            host.reach(each.stage, now)
        if answer.reply:
            status = answer.reply.exit_code
        if answer.again_s is None:
            break
        now += answer.again_s
        answer = host.proceed(now)
    return list(dict.fromkeys(stages)), status


def test_a_single_node() -> None:
    host = host_of("kvm-libvirt", registry_bytes=1_000_000_000)
    assert play(host, install(host)) == (
        [
            "Starting installation",
            "Installing",
            "Waiting for bootkube",
            "Writing image to disk",
            "Copying registry data to disk",
            "Rebooting",
            "Joined",
            "Done",
        ],
        None,
    )
    assert host.is_done


def test_a_worker_that_is_added_later_waits_for_nobody() -> None:
    host = host_of("kvm-libvirt")
    stages, status = play(host, install(host, role="worker", control_plane_count=0))
    assert stages[-1] == "Done"
    assert status is None


def test_an_installation_is_not_begun_twice() -> None:
    host = host_of("kvm-libvirt")
    assert host.answer(install(host), START).again_s is not None
    again = host.answer(install(host), START + 1)
    assert (again.reply, again.again_s, again.progress) == (None, None, ())
    other = host.answer(install(host, "install-2"), START + 2)
    assert other.reply
    assert other.reply.exit_code == 125
    assert (host.refused, list(host.started)) == (["install-2"], ["install-1"])


def test_disks_to_format_are_written() -> None:
    host = host_of("dell-r650-perc")
    play(host, install(host, disks_to_format=["/dev/sdb", "/dev/none"]))
    assert [(each.path, each.why, each.step_id) for each in host.written] == [
        ("/dev/sdb", "format", "install-1"),
        ("/dev/sda", "image", "install-1"),
    ]


@pytest.mark.parametrize(
    ("faults", "more", "code", "last"),
    [
        ((), {"boot_device": "/dev/none"}, 1, "Failed"),
        (("disk-full:*",), {}, 1, "Failed"),
        (("image:i",), {}, 2, None),
    ],
)
def test_an_installation_that_fails(
    faults: tuple[str, ...], more: dict[str, object], code: int, last: str | None
) -> None:
    host = host_of("kvm-libvirt", *faults)
    stages, status = play(host, install(host, "install-1", **more))
    assert status == code
    assert (stages[-1] if stages else None) == last
    assert not [each for each in host.written if each.why == "image"]


def test_the_others_wait_for_a_lost_master() -> None:
    roles = roles_of(run := Run(machines_of(*KINDS)).go())
    lost = next(name for name, role in roles.items() if role == "master")
    run = Run(machines_of(*KINDS), f"lost:{lost}=installing").go()
    stages = {loop.host.name: run.service.stages_of(loop.host.id)[-1] for loop in run.loops}
    assert run.phases[lost] == "silent"
    assert stages[lost] == "Installing"
    waiting = [name for name, stage in stages.items() if stage == "Waiting for control plane"]
    assert sorted(roles[name] for name in waiting) == ["bootstrap", "worker", "worker"]
    assert {run.phases[name] for name in waiting} == {"polling"}, "they still ask the service"


def test_nobody_is_configured_without_the_first_host() -> None:
    roles = roles_of(Run(machines_of(*KINDS)).go())
    lost = next(name for name, role in roles.items() if role == "bootstrap")
    run = Run(machines_of(*KINDS), f"lost:{lost}=starting-installation").go()
    masters = [loop.host for loop in run.loops if roles[loop.host.name] == "master"]
    assert [run.service.stages_of(host.id)[-1] for host in masters] == ["Rebooting", "Rebooting"]


def test_a_slow_disk_takes_long() -> None:
    quick = Run(machines_of("nvme-only", "kvm-libvirt", "openstack")).go()
    slow = Run(machines_of("nvme-only", "kvm-libvirt", "openstack"), "slow-disk:openstack-2=3MB/s").go()
    assert set(slow.phases.values()) == {"installed"}
    assert slow.clock.now - quick.clock.now > 1000


def test_an_installation_is_stopped() -> None:
    run = Run(machines_of("nvme-only", "kvm-libvirt", "openstack"))
    host = run.loops[0].host
    run.fleet.start_all(run.loops)
    run.clock.run(is_over=lambda: run.service.stages_of(host.id)[-1:] == ["Writing image to disk"])
    run.service.wanted[host.id] = [run.service.step("stop-installation")]
    run.clock.run(run.clock.now + 600)
    assert run.service.stages_of(host.id)[-1] == "Writing image to disk"
    assert host.installation is None
    assert run.phases[host.name] == "polling"


def test_requests_are_those_of_the_interface() -> None:
    host = host_of("kvm-libvirt")
    args = install(host).args
    assert args
    assert msgspec.json.decode(args[0], type=InstallCmdRequest).role == "bootstrap"
    assert SmallService(1).step("install").step_id == "install-00000001"
