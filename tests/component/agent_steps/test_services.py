# SPDX-License-Identifier: Apache-2.0
"""Real servers of time, names and addresses, and hosts that are to use them."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import msgspec

from muster.agent.steps.outcome import Outcome
from muster.lab.services.chrony import describe_chrony
from muster.lab.services.dnsmasq import Names, Offer, Record, Subnet, describe_dnsmasq
from muster.lab.services.service import Place, start_service
from muster.model.wire.reports import (
    DhcpAllocationResponse,
    DomainResolution,
    DomainResolutionResponse,
    NtpSource,
    NtpSynchronizationResponse,
)
from muster.run import run, start
from muster.toolbox import Toolbox
from tests.component.agent_steps.site import ROOT, Host, Site

SERVER = "10.9.0.2"
RESOLVING = 'mount --bind "$0" /etc/resolv.conf && exec "$@"'
DAEMON = """
mount -t tmpfs tmpfs /run && mkdir -m 0750 /run/chrony && exec chronyd -x -d -u root -f "$0"
"""
CONFIG = """
cmdport 0
pidfile /run/chronyd.pid
driftfile /run/chrony.drift
"""


class Clock:
    """A host whose chronyd has a /run of its own, so that this machine's is left alone."""

    def __init__(self, host: Host, folder: Path, more: str = "") -> None:
        config = folder / "client.conf"
        config.write_text(CONFIG + more)
        argv = ["ip", "netns", "exec", host.namespace, "unshare", "-m", "sh", "-c", DAEMON, str(config)]
        self.pid = start(argv, log=folder / "client.log")
        self.inside = ["nsenter", "-t", str(self.pid), "-m", "-n", f"--wd={ROOT}"]
        deadline = time.monotonic() + 20
        while not Path(f"/proc/{self.pid}/root/run/chrony/chronyd.sock").exists():
            assert time.monotonic() < deadline, (folder / "client.log").read_text()
            time.sleep(0.02)

    def do(self, servers: str) -> Outcome:
        act = ("tests.component.agent_steps.acting", "ntp_synchronizer", json.dumps({"ntp_source": servers}))
        argv = [*self.inside, sys.executable, "-m", *act]
        found = json.loads(run(argv))
        return Outcome(found["output"], found["exit_code"], found["error"])


def read_sources(done: Outcome) -> tuple[NtpSource, ...]:
    assert done.exit_code == 0, done.error
    return msgspec.json.decode(done.output, type=NtpSynchronizationResponse).ntp_sources or ()


def test_time_servers_are_added_once_and_used(site: Site, toolbox: Toolbox, tmp_path: Path) -> None:
    own, other = site.add("10.9.0.1/24"), site.add(f"{SERVER}/24")
    start_service(describe_chrony(program=toolbox.argv("chronyd")), Place(tmp_path, other.namespace))
    clock = Clock(own, tmp_path)
    assert read_sources(clock.do("")) == ()
    done = clock.do(f"{SERVER}, 10.9.0.99,-h")
    assert done.error == "-h is no name of a time server"
    wanted = (
        NtpSource(source_name=SERVER, source_state="synced"),
        NtpSource(source_name="10.9.0.99", source_state="unreachable"),
    )
    assert read_sources(done) == wanted
    assert read_sources(clock.do(SERVER)) == wanted


def test_a_host_without_a_time_service(site: Site) -> None:
    done = site.add("10.9.0.1/24").do(
        "ntp_synchronizer", {"ntp_source": ""}, before=["unshare", "-m", "sh", "-c", HIDDEN, "-"]
    )
    assert done.exit_code == 1
    assert done.error.startswith("cannot ask chrony for its servers: ")


HIDDEN = 'mount -t tmpfs tmpfs /run && exec "$@"'


def test_names(site: Site, toolbox: Toolbox, tmp_path: Path) -> None:
    own, other = site.add("10.9.0.1/24"), site.add(f"{SERVER}/24")
    names = Names(
        "lab.example.com",
        (
            Record("api.lab.example.com", ("10.9.0.5", "fd00:9::5")),
            Record("*.apps.lab.example.com", ("10.9.0.6",)),
        ),
    )
    offer = Offer((Subnet("eth0", f"{SERVER}/24"),))
    service = describe_dnsmasq(offer, names, program=toolbox.argv("dnsmasq"))
    start_service(service, Place(tmp_path, other.namespace))
    resolv = tmp_path / "resolv.conf"
    before = ["unshare", "-m", "sh", "-c", RESOLVING, str(resolv)]
    asked = ["api.lab.example.com", "console.apps.lab.example.com", "nothing.lab.example.com."]
    argument = {"domains": [{"domain_name": name} for name in asked]}

    resolv.write_text(f"nameserver {SERVER}\noptions timeout:1 attempts:1\n")
    done = own.do("domain_resolution", argument, before=before)
    empty: tuple[str, ...] = ()
    assert done.exit_code == 0
    assert msgspec.json.decode(done.output, type=DomainResolutionResponse).resolutions == (
        DomainResolution(
            domain_name=asked[0], ipv4_addresses=("10.9.0.5",), ipv6_addresses=("fd00:9::5",), cnames=empty
        ),
        DomainResolution(
            domain_name=asked[1], ipv4_addresses=("10.9.0.6",), ipv6_addresses=empty, cnames=empty
        ),
        DomainResolution(domain_name=asked[2], ipv4_addresses=empty, ipv6_addresses=empty, cnames=empty),
    )
    assert done.error == "nothing.lab.example.com.: there is no such name"

    resolv.write_text("nameserver 10.9.0.77\noptions timeout:1 attempts:1\n")
    done = own.do("domain_resolution", {"domains": [{"domain_name": asked[0]}]}, before=before)
    assert done.exit_code == 0
    assert done.error == "api.lab.example.com: the name servers cannot be reached, or they failed"


def test_leases(site: Site, toolbox: Toolbox, tmp_path: Path) -> None:
    own, other = site.add("10.9.0.1/24"), site.add(f"{SERVER}/24")
    offer = Offer((Subnet("eth0", f"{SERVER}/24", pool=("10.9.0.100", "10.9.0.150")),))
    service = describe_dnsmasq(offer, Names("lab.example.com"), program=toolbox.argv("dnsmasq"))
    start_service(service, Place(tmp_path, other.namespace))
    request = {
        "interface": "eth0",
        "api_vip_mac": "02:00:00:00:01:01",
        "ingress_vip_mac": "02:00:00:00:01:02",
        "api_vip_lease": "lease {\n  fixed-address 10.9.0.123;\n}\n",
    }
    done = own.do("dhcp_lease_allocate", request)
    assert done.exit_code == 0, done.error
    found = msgspec.json.decode(done.output, type=DhcpAllocationResponse)
    assert found.api_vip_address == "10.9.0.123"
    assert found.ingress_vip_address.startswith("10.9.0.1")
    assert found.ingress_vip_address != found.api_vip_address
    assert f"fixed-address {found.ingress_vip_address};" in (found.ingress_vip_lease or "")
    again = own.do("dhcp_lease_allocate", {**request, "api_vip_lease": found.api_vip_lease})
    assert (
        msgspec.json.decode(again.output, type=DhcpAllocationResponse).ingress_vip_address
        == found.ingress_vip_address
    )
    assert [each["ifname"] for each in json.loads(own.run("ip", "-j", "link"))] == ["lo", "eth0"]


def test_no_card_for_a_lease(site: Site) -> None:
    request = {
        "interface": "eth7",
        "api_vip_mac": "02:00:00:00:01:01",
        "ingress_vip_mac": "02:00:00:00:01:02",
    }
    done = site.add("10.9.0.1/24").do("dhcp_lease_allocate", request)
    assert done.exit_code == 1
    assert [line.partition(" on eth7")[0] for line in done.error.splitlines()] == [
        "api: cannot make a card",
        "ingress: cannot make a card",
    ]
