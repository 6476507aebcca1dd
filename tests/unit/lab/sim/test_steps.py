# SPDX-License-Identifier: Apache-2.0
"""Each step that a service can hand out, answered by a modelled host."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest

from muster.lab.sim.host import SimHost
from muster.lab.sim.world import Image, NtpServer, Segment
from muster.model.wire import reports
from muster.model.wire.enums import StepType
from muster.model.wire.inventory import Inventory
from muster.model.wire.reports import ConnectivityRemoteHost, ConnectivityReport, StepReply
from muster.model.wire.steps import Step
from tests.unit.lab.sim.made import START, Run, host_of, machines_of
from tests.unit.lab.sim.small_service import SmallService, encode


def ask(host: SimHost, kind: StepType, *args: object, now: float = START) -> StepReply:
    """Hand a step to a host; its reply."""
    texts = tuple(each if isinstance(each, str) else encode(each) for each in args)
    answer = host.answer(Step(step_type=kind, step_id=f"{kind}-1", args=texts), now)
    assert answer.reply is not None
    assert answer.duration_s >= 0
    return answer.reply


def output_of(host: SimHost, kind: StepType, *args: object, now: float = START) -> Any:
    reply = ask(host, kind, *args, now=now)
    assert reply.exit_code is None, reply.error
    return msgspec.json.decode(reply.output or "null")


def heard(run: Run, asker: int, about: int, now: float = START) -> ConnectivityRemoteHost:
    """What one host hears of another."""
    service = SmallService(0)
    service.inventories = {loop.host.id: loop.host.body.machine.inventory for loop in run.loops}
    host = run.loops[asker].host
    reply = ask(host, "connectivity-check", service.peers_of(host.id), now=now)
    report = msgspec.json.decode(reply.output or "", type=ConnectivityReport)
    ids = [each.host_id or "" for each in report.remote_hosts or ()]
    assert ids == sorted(set(service.inventories) - {host.id})
    return next(each for each in report.remote_hosts or () if each.host_id == run.loops[about].host.id)


def test_every_type_of_step_is_answered() -> None:
    host = host_of("kvm-libvirt")
    for kind in get_args(StepType):
        answer = host.answer(Step(step_type=kind, step_id="x", args=("{",)), START)
        assert answer.reply is not None
        if kind not in ("inventory", "stop-installation"):
            assert answer.reply.exit_code == -1, kind
            assert answer.reply.error


def test_a_step_of_an_unknown_kind_or_without_arguments() -> None:
    host = host_of("kvm-libvirt")
    assert ask(host, "execute", "rm").error == "unexpected step type: execute"
    assert ask(host, "ntp-synchronizer").error == "the step has no argument"


def test_inventory() -> None:
    host = host_of("dell-r650-perc", "link:dell-r650-perc-0/eno12399np0@60s")
    whole = msgspec.json.decode(ask(host, "inventory", host.id).output or "", type=Inventory)
    assert whole == host.body.machine.inventory
    cut = msgspec.json.decode(ask(host, "inventory", host.id, now=START + 60).output or "", type=Inventory)
    card = next(card for card in cut.interfaces or () if card.name == "eno12399np0")
    assert (card.has_carrier, card.ipv4_addresses) == (None, ())


def test_peers_hear_each_other() -> None:
    run = Run(machines_of("dell-r650-perc", "lenovo-sr630-vlan", "kvm-libvirt"))
    found = heard(run, 0, 1)
    assert {(each.remote_ip_address, each.successful) for each in found.l2_connectivity or ()} == {
        ("192.0.2.11", True),
        ("2001:db8:1::b", True),
    }
    assert [each.remote_ip_address for each in found.l3_connectivity or ()] == [
        "192.0.2.11",
        "2001:db8:1::b",
        "198.51.100.11",
    ]
    for each in found.l3_connectivity or ():
        assert each.successful
        assert 0.2 < (each.average_rtt_ms or 0) < 0.4
    assert found.mtu_report is None
    jumbo = heard(run, 1, 0)
    assert [each.mtu_successful for each in jumbo.mtu_report or ()] == [True, True, True]


def test_a_segment_that_cannot_carry_large_packets() -> None:
    run = Run(machines_of("lenovo-sr630-vlan", "kvm-libvirt"), segments=(Segment(mtu=1500),))
    assert [each.mtu_successful for each in heard(run, 0, 1).mtu_report or ()] == [None, None]


def test_hosts_in_different_segments_only_ping() -> None:
    machines = machines_of("kvm-libvirt", "openstack")
    ports = {"02:00:0c:00:01:00": "other"}
    segments = (Segment(), Segment("other"))
    found = heard(Run(machines, segments=segments, ports=ports), 0, 1)
    assert not found.l2_connectivity
    assert [each.successful for each in found.l3_connectivity or ()] == [True]
    apart = heard(Run(machines, segments=segments, ports=ports, is_routed=False), 0, 1)
    assert [each.successful for each in apart.l3_connectivity or ()] == [None]


@pytest.mark.parametrize(
    "fault",
    ["link:openstack-1", "power:openstack-1", "partition:kvm-libvirt-0|openstack-1", "loss:openstack-1=100%"],
)
def test_a_host_that_is_not_heard(fault: str) -> None:
    found = heard(Run(machines_of("kvm-libvirt", "openstack"), fault), 0, 1)
    assert not found.l2_connectivity
    assert [each.successful for each in found.l3_connectivity or ()] == [None]


def test_loss_and_delay() -> None:
    machines = machines_of("kvm-libvirt", "openstack")
    found = heard(Run(machines, "loss:openstack-1/ens3=50%", "delay:kvm-libvirt-0=200ms"), 0, 1)
    (ping,) = found.l3_connectivity or ()
    assert ping.successful
    assert 0 < (ping.packet_loss_percentage or 0) < 100
    assert (ping.average_rtt_ms or 0) > 200


def test_an_address_that_is_used_twice() -> None:
    found = heard(Run(machines_of("kvm-libvirt", "openstack"), "duplicate-ip:openstack-1"), 0, 1)
    answers = {each.remote_mac: each.successful for each in found.l2_connectivity or ()}
    assert answers == {"02:00:0c:00:01:00": True, "02:00:00:00:ff:00": None}


@pytest.mark.parametrize(
    "peer", [3, {"host_id": "x", "nics": [{"name": "a", "mac": "b", "ip_addresses": ["nonsense/24"]}]}]
)
def test_a_peer_that_is_none(peer: object) -> None:
    assert ask(host_of("kvm-libvirt"), "connectivity-check", [peer]).exit_code == -1


def test_what_others_say_is_quoted() -> None:
    nic = {"name": "a", "mac": 'b"', "ip_addresses": ["192.0.2.77/24"]}
    found = output_of(host_of("kvm-libvirt"), "connectivity-check", [{"host_id": 'x"}', "nics": [nic]}])
    assert found == {
        "remote_hosts": [
            {
                "host_id": 'x"}',
                "l2_connectivity": [],
                "l3_connectivity": [{"remote_ip_address": "192.0.2.77"}],
            }
        ]
    }


def test_free_addresses() -> None:
    host = host_of("kvm-libvirt", "vip-in-use:192.0.2.5", in_use={"192.0.2.1": "02:00:00:00:00:01"})
    (found,) = output_of(host, "free-network-addresses", ["192.0.2.0/28"])
    taken = {"192.0.2.1", "192.0.2.5", "192.0.2.10"}
    assert found["network"] == "192.0.2.0/28"
    assert set(found["free_addresses"]) == {f"192.0.2.{at}" for at in range(16)} - taken
    assert ask(host, "free-network-addresses", ["192.0.2.1/28"]).exit_code == -1


def test_leases() -> None:
    request = {
        "interface": "enp1s0",
        "api_vip_mac": "02:00:00:00:00:0a",
        "ingress_vip_mac": "02:00:00:00:00:0b",
    }
    found = output_of(
        host_of("kvm-libvirt", leases=("192.0.2.5", "192.0.2.6")), "dhcp-lease-allocate", request
    )
    assert (found["api_vip_address"], found["ingress_vip_address"]) == ("192.0.2.5", "192.0.2.6")
    assert ask(host_of("kvm-libvirt"), "dhcp-lease-allocate", request).exit_code == 124


def test_time_servers() -> None:
    asked = {"ntp_source": "a.example.com, b.example.com,c.example.com"}
    ntp = {
        "a.example.com": NtpServer(reachable=False),
        "b.example.com": NtpServer(),
        "c.example.com": NtpServer(),
    }
    found = output_of(host_of("kvm-libvirt", ntp=ntp), "ntp-synchronizer", asked)
    assert [each["source_state"] for each in found["ntp_sources"]] == ["unreachable", "synced", "combined"]
    broken = output_of(host_of("kvm-libvirt", "ntp:*", ntp=ntp), "ntp-synchronizer", asked)
    assert {each["source_state"] for each in broken["ntp_sources"]} == {"unreachable"}
    every = output_of(host_of("kvm-libvirt", "ntp:a.example.com"), "ntp-synchronizer", asked)
    assert [each["source_state"] for each in every["ntp_sources"]] == ["unreachable", "synced", "combined"]


def test_names() -> None:
    names = {"api.x.example.com": ("192.0.2.5", "2001:db8::5"), "*.apps.x.example.com": ("192.0.2.6",)}
    domains = ("api.x.example.com", "console.apps.x.example.com.", "none.example.com")
    asked = {"domains": [{"domain_name": name} for name in domains]}
    found = output_of(host_of("kvm-libvirt", names=names), "domain-resolution", asked)["resolutions"]
    assert [(each["domain_name"], each["ipv4_addresses"], each["ipv6_addresses"]) for each in found] == [
        (domains[0], ["192.0.2.5"], ["2001:db8::5"]),
        (domains[1], ["192.0.2.6"], []),
        (domains[2], [], []),
    ]
    for fault in ("dns:*", "dns:api.x.example.com"):
        broken = output_of(host_of("kvm-libvirt", fault, names=names), "domain-resolution", asked)
        assert broken["resolutions"][0]["ipv4_addresses"] == []


def test_vips() -> None:
    asked = [{"vip": "192.0.2.5", "vip_type": "api"}, {"vip": "192.0.2.6", "vip_type": "ingress"}]
    host = host_of("kvm-libvirt", "vip-in-use:192.0.2.5@60s")
    for now, expected in ((START, "succeeded"), (START + 60, "failed")):
        found = output_of(host, "verify-vips", asked, now=now)
        assert [each["verification"] for each in found] == [expected, "succeeded"]


def test_tang() -> None:
    asked = {"tang_servers": encode([{"url": "http://tang.example.com", "thumbprint": "x"}])}
    found = output_of(host_of("kvm-libvirt"), "tang-connectivity-check", asked)
    assert found["is_success"]
    assert found["tang_server_response"][0]["tang_url"] == "http://tang.example.com"
    assert ask(host_of("kvm-libvirt", tang_answers=False), "tang-connectivity-check", asked).exit_code == 1
    assert ask(host_of("kvm-libvirt"), "tang-connectivity-check", {"tang_servers": "["}).exit_code == -1


def test_the_api_of_a_cluster_that_is_there() -> None:
    asked = {"url": "https://api.x.example.com:22623/config/worker"}
    names = {"api.x.example.com": ("192.0.2.5",)}
    found = output_of(host_of("kvm-libvirt", names=names), "api-vip-connectivity-check", asked)
    assert found["is_success"]
    lost = output_of(host_of("kvm-libvirt"), "api-vip-connectivity-check", asked)
    assert "is_success" not in lost
    assert "does not answer" in lost["download_error"]


def test_the_speed_of_a_disk() -> None:
    for fault, expected in (("", 2), ("slow-sync:dell-r650-perc-0/sda=55ms", 55), ("slow-disk:*=1MB/s", 12)):
        host = host_of("dell-r650-perc", *([fault] if fault else []))
        found = output_of(host, "installation-disk-speed-check", {"path": "/dev/sda"}, "480.00")
        assert found == {"path": "/dev/sda", "io_sync_duration": expected}
        assert [(each.path, each.why) for each in host.written] == [("/dev/sda", "speed check")]


@pytest.mark.parametrize(
    ("fault", "path", "code"),
    [
        ("slow-sync:*=500ms", "/dev/sda", 124),
        ("disk-full:*", "/dev/sda", 1),
        ("media:*@1h", "/dev/sdz", 1),
    ],
)
def test_a_disk_whose_speed_is_not_known(fault: str, path: str, code: int) -> None:
    host = host_of("dell-r650-perc", fault)
    assert ask(host, "installation-disk-speed-check", {"path": path}, "480.00").exit_code == code


def test_images() -> None:
    images = {"a": Image(size_bytes=10_000_000, rate_mb_s=10.0), "slow": Image(rate_mb_s=0.1)}
    host = host_of("kvm-libvirt", images=images)
    found = output_of(host, "container-image-availability", {"images": ["a", "a"], "timeout": 60})["images"]
    assert found[0] == {
        "name": "a",
        "result": "success",
        "size_bytes": 1e7,
        "time": 1.0,
        "download_rate": 10.0,
    }
    assert found[1] == {"name": "a", "result": "success", "size_bytes": 1e7}, "it is there already"
    reply = ask(host, "container-image-availability", {"images": ["slow", "a"], "timeout": 60})
    answer = msgspec.json.decode(reply.output or "", type=reports.ContainerImageAvailabilityResponse)
    assert [each.result for each in answer.images] == ["failure", "success"]
    assert (reply.exit_code, reply.error) == (2, "could not be pulled: slow")
    broken = ask(host_of("kvm-libvirt", "image:a"), "container-image-availability", {"images": ["a", "b"]})
    assert broken.error == "could not be pulled: a"


def test_an_agent_that_is_upgraded_starts_anew() -> None:
    host = host_of("kvm-libvirt")
    step = Step(step_type="upgrade-agent", step_id="u", args=(encode({"agent_image": "agent:2"}),))
    answer = host.answer(step, START)
    assert answer.then == "restart"
    assert host.register_params().discovery_agent_version == "agent:2"
    broken = host_of("kvm-libvirt", "image:agent:2")
    assert broken.answer(step, START).then == ""
    assert output_of(broken, "upgrade-agent", {"agent_image": "agent:2"})["result"] == "failure"


def test_reclaiming() -> None:
    host = host_of("kvm-libvirt")
    urls = {f"{each}_url": "https://example.com/x" for each in ("kernel", "rootfs", "initrd")}
    assert ask(host, "download-boot-artifacts", {**urls, "host_fs_mount_dir": "/host"}).exit_code is None
    step = Step(step_type="reboot-for-reclaim", step_id="r", args=(encode({"host_fs_mount_dir": "/host"}),))
    assert host.answer(step, START).then == "reboot"


def test_a_medium_that_is_gone() -> None:
    host = host_of("kvm-libvirt", "media:kvm-libvirt-0")
    assert ask(host, "inventory", host.id).exit_code == 256
    minimal = host_of("kvm-libvirt", "media:kvm-libvirt-0", is_full_iso=False)
    assert ask(minimal, "inventory", host.id).exit_code is None
