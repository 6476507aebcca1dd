# SPDX-License-Identifier: Apache-2.0
"""Hosts for tests: what they are, what they answer, and a realm that holds them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

import msgspec

from muster.model.wire.inventory import (
    Boot,
    Cpu,
    Disk,
    Interface,
    Inventory,
    Memory,
    Route,
    SystemVendor,
)
from muster.model.wire.reports import (
    ConnectivityRemoteHost,
    ConnectivityReport,
    L2Connectivity,
    L3Connectivity,
    StepReply,
)
from muster.service.decisions.replies import take_reply
from muster.service.derive.run import derive
from muster.service.realm import Draft, Realm
from muster.service.state import Cluster, Host

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CLUSTER = "00000000-0000-4000-8000-00000000c0de"
INFRA_ENV = "00000000-0000-4000-8000-0000000000e0"
GB = 10**9
GIB = 1 << 30


def host_id(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def address(number: int, net: int = 0) -> str:
    """An address of a host in one of a few large subnets of documentation and benchmark addresses."""
    return f"198.{18 + net}.{number // 250}.{number % 250 + 1}"


def mac(number: int, nic: int = 0) -> str:
    return f"52:54:00:{nic:02x}:{number >> 8:02x}:{number & 255:02x}"


def make_disk(name: str = "sda", size_gb: int = 200, **more: Any) -> Disk:
    values: dict[str, Any] = {
        "name": name,
        "path": f"/dev/{name}",
        "by_path": f"/dev/disk/by-path/pci-{name}",
        "drive_type": "SSD",
        "size_bytes": size_gb * GB,
    }
    return Disk(**(values | more))


def make_inventory(number: int, **more: Any) -> Inventory:
    values: dict[str, Any] = {
        "hostname": f"host-{number}",
        "cpu": Cpu(count=8, architecture="x86_64", frequency=2400.0, flags=("fpu", "vmx")),
        "memory": Memory(physical_bytes=32 * GIB, usable_bytes=31 * GIB, physical_bytes_method="dmidecode"),
        "interfaces": (
            Interface(
                name="eth0",
                mac_address=mac(number),
                type="physical",
                mtu=1500,
                has_carrier=True,
                ipv4_addresses=(f"{address(number)}/16",),
            ),
        ),
        "disks": (make_disk(),),
        "routes": (Route(interface="eth0", gateway="198.18.255.254", destination="0.0.0.0", family=2),),
        "boot": Boot(current_boot_mode="uefi"),
        "system_vendor": SystemVendor(manufacturer="Example", product_name="Machine", virtual=False),
    }
    return Inventory(**(values | more))


def make_host(number: int, **more: Any) -> Host:
    values: dict[str, Any] = {
        "id": host_id(number),
        "infra_env_id": INFRA_ENV,
        "cluster_id": CLUSTER,
        "number": number,
        "status": "insufficient",
        **dict.fromkeys(("status_updated_at", "created_at", "registered_at", "updated_at"), NOW),
    }
    return Host(**(values | more))


def make_cluster(**more: Any) -> Cluster:
    values: dict[str, Any] = {
        "id": CLUSTER,
        "name": "muster",
        "base_dns_domain": "example.com",
        "status": "insufficient",
        "openshift_version": "4.18.1",
        **dict.fromkeys(("status_updated_at", "created_at", "updated_at"), NOW),
    }
    return Cluster(**(values | more))


def make_realm(hosts: int, **cluster: Any) -> Realm:
    """A cluster with hosts that told nothing yet."""
    realm = Realm(CLUSTER, cluster=make_cluster(**cluster))
    for number in range(1, hosts + 1):
        realm.put("host", host_id(number), make_host(number))
    return realm


def settle(draft: Draft) -> int:
    """Derive until nothing changes; how many rounds changed something."""
    rounds = 0
    while changes := draft.take_changes():
        derive(draft, changes, lambda host, role: True)
        rounds += 1
        assert rounds < 5, "what is derived does not come to rest"
    draft.apply()
    return rounds


def answer(
    realm: Realm, number: int, step_type: Any, output: Any, exit_code: int = 0, asked: Collection[str] = ()
) -> Draft:
    """A host answers a step; everything that follows is applied."""
    draft = Draft(realm, NOW)
    text = output if isinstance(output, str) else msgspec.json.encode(output).decode()
    reply = StepReply(step_type=step_type, step_id=f"{step_type}-0", exit_code=exit_code, output=text)
    take_reply(draft, realm.hosts[host_id(number)], reply, lambda draft, host, why: None, frozenset(asked))
    settle(draft)
    return draft


def tell_inventory(realm: Realm, number: int, **more: Any) -> Draft:
    return answer(realm, number, "inventory", make_inventory(number, **more))


def all_told(hosts: int, **cluster: Any) -> Realm:
    """A cluster whose hosts have all told what they are."""
    realm = make_realm(hosts, **cluster)
    for number in range(1, hosts + 1):
        tell_inventory(realm, number)
    return realm


def remote(number: int, *, l2: bool = True, l3: bool = True, rtt: float = 0.4) -> ConnectivityRemoteHost:
    """What a healthy agent, or one with a broken network, says of a peer."""
    ip = address(number)
    return ConnectivityRemoteHost(
        host_id=host_id(number),
        l2_connectivity=(
            L2Connectivity(
                outgoing_nic="eth0",
                outgoing_ip_address="198.18.0.1",
                remote_ip_address=ip,
                remote_mac=mac(number),
                successful=True,
            ),
        )
        if l2
        else (),
        l3_connectivity=(
            L3Connectivity(
                remote_ip_address=ip,
                successful=l3 or None,
                average_rtt_ms=rtt if l3 else None,
                packet_loss_percentage=None,
            ),
        ),
    )


def report(*remotes: ConnectivityRemoteHost) -> ConnectivityReport:
    return ConnectivityReport(remote_hosts=remotes)
