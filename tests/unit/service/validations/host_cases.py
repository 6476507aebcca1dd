# SPDX-License-Identifier: Apache-2.0
"""Every answer of every validation of hosts: what differs from a good host, and what is said then."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from muster.model.wire.cluster import (
    ClusterNetwork,
    DiskEncryption,
    LoadBalancer,
    MachineNetwork,
    Platform,
    PlatformExternal,
)
from muster.model.wire.host import HostProgressInfo
from muster.model.wire.inventory import (
    Cpu,
    DiskInstallationEligibility,
    InventoryTruncation,
    Iscsi,
    Memory,
    Route,
    SystemVendor,
)
from muster.model.wire.reports import (
    ApiVipConnectivityResponse,
    ContainerImageAvailability,
    DiskSpeed,
    NtpSource,
    TangConnectivityResponse,
)
from muster.service.state import AddOn, Peer
from tests.unit.service.validations.making import disk, interface, inventory, names


@dataclass(frozen=True)
class Case:
    """What differs from a good host or cluster, and what a validation says of it."""

    id: str
    status: str
    says: str = ""
    with_: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.id}: {self.status} {self.says}"


CASES: list[Case] = []


def case(id: str, status: str, says: str = "", **with_: Any) -> None:
    """Add one."""
    CASES.append(Case(id, status, says, with_))


UNKNOWN: dict[str, Any] = {"inventory": None}
DAY_2 = {"kind": "AddHostsCluster"}
SINGLE = {"control_plane_count": 1}
YOURS = {"user_managed_networking": True}
BALANCED = {"load_balancer": LoadBalancer(type="user-managed")}
NO_NETWORK: dict[str, Any] = {"machine_networks": ()}
REBOOTED = HostProgressInfo(current_stage="Rebooting")
NONSENSE = (ClusterNetwork(cidr="10.128.0.0/99", host_prefix=23),)

# What it is made of.
case("has-inventory", "success")
case("has-inventory", "failure", "has not told", **UNKNOWN)
case("has-inventory", "failure", "no cpu and memory", inventory=inventory(cpu=None, memory=None))
CUTS: tuple[tuple[str, Any, Any], ...] = (
    ("inventory-not-partially-truncated", "partial", "full"),
    ("inventory-not-fully-truncated", "full", "partial"),
)
for id, kind, other in CUTS:
    case(id, "success")
    case(id, "success", inventory=inventory(truncation=InventoryTruncation(type=other)))
    cut = InventoryTruncation(type=kind, reasons=("900 disks", "too long"))
    case(id, "failure", "900 disks; too long", inventory=inventory(truncation=cut))
    case(id, "failure", "no reason", inventory=inventory(truncation=InventoryTruncation(type=kind)))
    case(id, "pending", **UNKNOWN)
for id in ("has-min-cpu-cores", "has-cpu-cores-for-role"):
    case(id, "success")
    case(id, "failure", "has 1 processor cores", inventory=inventory(cpu=Cpu(count=1)))
    case(id, "pending", **UNKNOWN)
case("has-min-cpu-cores", "success", inventory=inventory(cpu=Cpu(count=2)))
three = inventory(cpu=Cpu(count=3))
case("has-cpu-cores-for-role", "failure", "a control-plane host of this cluster needs 4", inventory=three)
case("has-cpu-cores-for-role", "success", inventory=three, role="worker")
case("has-cpu-cores-for-role", "success", inventory=three, suggested_role="auto-assign")
case("has-cpu-cores-for-role", "failure", "a single node", inventory=three, cluster=SINGLE)
case("has-cpu-cores-for-role", "success", inventory=three, cluster={"openshift_version": "1.36.3"})


def memory(mib: int, method: Any = "dmidecode") -> Any:
    """An inventory with as much memory."""
    return inventory(memory=Memory(physical_bytes=mib << 20, physical_bytes_method=method))


for id, least in (("has-min-memory", 8192), ("has-memory-for-role", 16384)):
    case(id, "success")
    case(id, "success", inventory=memory(least - 100))
    case(id, "failure", f"{least // 1024} GiB", inventory=memory(least - 101))
    case(id, "success", inventory=memory(least - 100 - least // 50, "meminfo"))
    case(id, "failure", inventory=memory(least - 101 - least // 50, "meminfo"))
    case(id, "pending", **UNKNOWN)
case("has-memory-for-role", "success", inventory=memory(8192), role="worker")
case("has-memory-for-role", "failure", "a worker of this cluster", inventory=memory(4096), role="worker")

ADDED = (AddOn(id="gauge", cpu_millicores=300, ram_mib=200), AddOn(id="door", cpu_millicores=100, ram_mib=56))
BUSY = (*ADDED, AddOn(id="mill", cpu_millicores=1200))
WITH = {"openshift_version": "1.36.3", "add_ons": ADDED}
WITH_BUSY = {**WITH, "add_ons": BUSY}
twin, quad = (inventory(cpu=Cpu(count=count)) for count in (2, 4))
case("has-memory-for-role", "success", inventory=memory(2304), cluster=WITH)
needs = "a control-plane host of this cluster needs 2.25 GiB, 256 MiB of them for the add-ons gauge, door"
case("has-memory-for-role", "failure", needs, inventory=memory(2048), cluster=WITH)
case("has-memory-for-role", "failure", "a worker", inventory=memory(1024), cluster=WITH, role="worker")
case("has-memory-for-role", "success", inventory=memory(1024), cluster=WITH, role="arbiter")
case("has-cpu-cores-for-role", "success", inventory=twin, cluster=WITH)
needs = "needs 4, 2 of them for the add-ons gauge, door, mill"
case("has-cpu-cores-for-role", "failure", needs, inventory=three, cluster=WITH_BUSY)
case("has-cpu-cores-for-role", "success", inventory=quad, cluster=WITH_BUSY)
case("has-cpu-cores-for-role", "failure", "needs 2", inventory=inventory(cpu=Cpu(count=1)), cluster=WITH)

vmware = inventory(system_vendor=SystemVendor(manufacturer="VMware, Inc.", product_name="VMware7,1"))
vsphere = {"platform": Platform(type="vsphere")}
oracle = {"platform": Platform(type="external", external=PlatformExternal(platform_name="oci"))}
case("compatible-with-cluster-platform", "success", "baremetal")
case("compatible-with-cluster-platform", "success", "vsphere", inventory=vmware, cluster=vsphere)
case("compatible-with-cluster-platform", "failure", "made by Example", cluster=vsphere)
case("compatible-with-cluster-platform", "failure", "OracleCloud.com", cluster=oracle)
case("compatible-with-cluster-platform", "pending", **UNKNOWN)
case("compatible-with-cluster-platform", "error", inventory=inventory(system_vendor=None), cluster=vsphere)
openstack = inventory(system_vendor=SystemVendor(product_name="OpenStack Compute"))
case("valid-platform-network-settings", "success")
case("valid-platform-network-settings", "failure", "OpenStack Compute", inventory=openstack)
case("valid-platform-network-settings", "success", inventory=openstack, cluster=YOURS)
case("valid-platform-network-settings", "success", inventory=openstack, cluster=SINGLE)
case("valid-platform-network-settings", "pending", **UNKNOWN)
case("valid-platform-network-settings", "error", inventory=inventory(system_vendor=None))
case("compatible-agent", "suppressed")
case("compatible-agent", "success", discovery_agent_version="agent:2", agent_image="agent:2")
case("compatible-agent", "failure", "agent:1", discovery_agent_version="agent:1", agent_image="agent:2")

# Disks.
refused = DiskInstallationEligibility(eligible=False, not_eligible_reasons=("too small", "removable"))
unfit = inventory(disks=(disk(installation_eligibility=refused), disk(installation_eligibility=None)))
case("has-min-valid-disks", "success")
case("has-min-valid-disks", "failure", "/dev/sda (too small; removable)", inventory=unfit)
case("has-min-valid-disks", "error", "no disk", inventory=inventory(disks=()))
case("has-min-valid-disks", "pending", **UNKNOWN)
slow = DiskSpeed(tested=True, exit_code=1)
case("sufficient-installation-disk-speed", "success", "quick enough")
case("sufficient-installation-disk-speed", "success", "not been measured", disk_speeds={})
case("sufficient-installation-disk-speed", "failure", "/dev/sda", disk_speeds={"/dev/sda": slow})
unsaid = {"/dev/sda": DiskSpeed(tested=True)}
case("sufficient-installation-disk-speed", "failure", "unknown", disk_speeds=unsaid)


def encrypted(on: Any, mode: Any) -> dict[str, Any]:
    """A cluster whose disks are to be encrypted."""
    return {"disk_encryption": DiskEncryption(enable_on=on, mode=mode)}


id = "disk-encryption-requirements-satisfied"
tpm, tang = encrypted("masters", "tpmv2"), encrypted("all", "tang")
case(id, "suppressed")
case(id, "suppressed", cluster=encrypted("none", "tpmv2"))
case(id, "success", "not to be encrypted", cluster=encrypted("workers", "tpmv2"))
case(id, "failure", "disks without it", cluster=tpm)
case(id, "failure", "disks without it", cluster=tpm, **UNKNOWN)
reached = TangConnectivityResponse(is_success=True)
case(id, "failure", "disks without it", cluster=tang, tang_connectivity=reached)
case(id, "pending", "role", cluster=tpm, suggested_role="auto-assign")
vendor = vmware.system_vendor
case("vsphere-disk-uuid-enabled", "suppressed")
case("vsphere-disk-uuid-enabled", "suppressed", **UNKNOWN)
case("vsphere-disk-uuid-enabled", "success", inventory=vmware)
without = inventory(system_vendor=vendor, disks=(disk(has_uuid=False),))
case("vsphere-disk-uuid-enabled", "failure", "/dev/sda", inventory=without)
case("vsphere-disk-uuid-enabled", "pending", inventory=inventory(system_vendor=vendor, disks=None))
kept = ("/dev/disk/by-id/wwn-1",)
case("no-skip-installation-disk", "success")
case("no-skip-installation-disk", "success", skip_formatting_disks=("/dev/disk/by-id/wwn-2",))
case("no-skip-installation-disk", "failure", "/dev/sda", skip_formatting_disks=kept)
case("matches-site-files", "suppressed")
case("matches-site-files", "success", site_fault="")
case("matches-site-files", "failure", "no disk of a", site_fault="no disk of a is as rootDeviceHints say")
case("no-skip-missing-disk", "success")
case("no-skip-missing-disk", "success", skip_formatting_disks=kept)
case("no-skip-missing-disk", "failure", "wwn-2", skip_formatting_disks=("/dev/disk/by-id/wwn-2",))
case("no-skip-missing-disk", "pending", skip_formatting_disks=kept, **UNKNOWN)


def stored(address: str, **values: Any) -> Any:
    """An inventory whose disk is reached through an address."""
    found = disk(drive_type="iSCSI", iscsi=Iscsi(host_ip_address=address), **values)
    cards = (interface("eth0", "192.0.2.11/24"), interface("eth1", "198.51.100.11/24"))
    return inventory(disks=(found,), interfaces=cards)


id = "no-iscsi-nic-belongs-to-machine-cidr"
many = inventory(
    disks=(
        disk(name="dm-0", drive_type="Multipath"),
        disk(
            id="a", name="sdb", drive_type="iSCSI", holders="dm-0", iscsi=Iscsi(host_ip_address="192.0.2.11")
        ),
    )
)
case(id, "suppressed")
case(id, "suppressed", **UNKNOWN)
case(id, "suppressed", inventory=stored("192.0.2.11"), cluster=YOURS)
case(id, "suppressed", inventory=stored("192.0.2.11"), cluster=DAY_2)
case(id, "success", inventory=stored("198.51.100.11"))
case(id, "failure", "through eth0 (192.0.2.11)", inventory=stored("192.0.2.11"))
case(id, "failure", "/dev/sda is reached through eth0", inventory=many)
case(id, "pending", inventory=stored("192.0.2.11"), cluster=NO_NETWORK)
case(id, "error", inventory=stored("203.0.113.1"))

# Names.
case("hostname-unique", "success")
case("hostname-unique", "success", requested_hostname="")
case("hostname-unique", "failure", "host-1 is also that of: host-id-2", twins=("host-id-2",))
case("hostname-unique", "pending", requested_hostname="", **UNKNOWN)
case("hostname-valid", "success")
case("hostname-valid", "success", requested_hostname="a.b-c.example.com")
case("hostname-valid", "success", requested_hostname="")
case("hostname-valid", "failure", "Big_Name", requested_hostname="Big_Name")
case("hostname-valid", "failure", "-a cannot", requested_hostname="-a")
case("hostname-valid", "failure", "a cannot", requested_hostname="a" * 64)
case("hostname-valid", "failure", "called localhost", requested_hostname="localhost")
case("hostname-valid", "failure", "called", requested_hostname="localhost6.localdomain6")
case("hostname-valid", "pending", requested_hostname="", **UNKNOWN)


def told(*paths: str, kubeconfig: str = "") -> ApiVipConnectivityResponse:
    """What a cluster that exists hands out, with these files."""
    files: list[dict[str, Any]] = [{"path": path} for path in paths]
    if kubeconfig:
        source = f"data:,clusters%3A%20%5Bserver%3A%20https%3A//{kubeconfig}%3A6443%20%5D"
        files.append({"path": "/etc/kubernetes/kubeconfig", "contents": {"source": source}})
    ignition = json.dumps({"storage": {"files": files}})
    return ApiVipConnectivityResponse(is_success=True, ignition=ignition)


imported = {**DAY_2, "imported": True}
for id, name, shown in (
    ("api-domain-name-resolved-correctly", "api", "api.lab.example.com"),
    ("api-int-domain-name-resolved-correctly", "api_int", "api-int.lab.example.com"),
    ("apps-domain-name-resolved-correctly", "apps", "*.apps.lab.example.com"),
):
    missing = names(**{name: ()})
    case(id, "success", "own names", resolutions=missing)
    case(id, "success", "own names", resolutions=missing, cluster=YOURS | SINGLE)
    case(id, "success", shown, cluster=YOURS)
    case(id, "failure", f"resolve {shown}", cluster=YOURS, resolutions=missing)
    case(id, "failure", "192.0.2.11", cluster=YOURS, resolutions=names(**{name: ("192.0.2.11",)}))
    case(id, "pending", "asked", cluster=YOURS, resolutions=None)
    case(id, "error", "base domain", cluster=YOURS | {"base_dns_domain": ""})
    case(id, "pending", "Ignition", cluster=imported)
    managed = told("/etc/kubernetes/manifests/coredns.yaml")
    case(id, "success", "own names", cluster=imported, api_vip_connectivity=managed)
    case(id, "success", "own names", cluster=imported, api_vip_connectivity=told(kubeconfig="192.0.2.5"))
    case(id, "failure", cluster=imported, api_vip_connectivity=told(kubeconfig="x.org"), resolutions=missing)
    odd = ApiVipConnectivityResponse(is_success=True, ignition="{")
    case(id, "success", cluster=imported, peers_=({"api_vip_connectivity": odd},))

id = "dns-wildcard-not-configured"
case(id, "success")
case(id, "success", "exists", cluster=DAY_2, resolutions=names(wildcard=("192.0.2.9",)))
case(id, "failure", "192.0.2.9: there is a wildcard", resolutions=names(wildcard=("192.0.2.9",)))
case(id, "failure", "search domain", resolutions=names(relative=("192.0.2.9",)))
case(id, "pending", resolutions=None)
case(id, "error", resolutions=names()[:3])

# Network.
for id, wrong in (("connected", {"silent": True}), ("media-connected", {"media_status": "disconnected"})):
    case(id, "success")
    case(id, "failure", **wrong)
    case(id, "suppressed", progress=REBOOTED, **wrong)
case("machine-cidr-defined", "success", "is known")
case("machine-cidr-defined", "failure", cluster=NO_NETWORK)
case("machine-cidr-defined", "success", "needs no", cluster=NO_NETWORK | YOURS)
case("machine-cidr-defined", "success", "needs no", cluster=NO_NETWORK | DAY_2)

id = "belongs-to-machine-cidr"
two = {"machine_networks": (MachineNetwork(cidr="192.0.2.0/24"), MachineNetwork(cidr="2001:db8::/64"))}
elsewhere = inventory(interfaces=(interface("eth0", "198.51.100.7/24", "fe80::2/64"),))
case(id, "success", "has an address")
case(id, "failure", "in 192.0.2.0/24; its addresses are: 198.51.100.7", inventory=elsewhere)
case(id, "failure", "in 2001:db8::/64", cluster=two)
case(id, "success", cluster=two | BALANCED)
case(id, "failure", cluster=two | BALANCED, inventory=elsewhere)
case(id, "failure", "are: none", inventory=inventory(interfaces=None))
case(id, "success", "does not ask", inventory=elsewhere, cluster=YOURS)
case(id, "success", "does not ask", inventory=elsewhere, cluster=DAY_2)
case(id, "failure", inventory=elsewhere, cluster=YOURS | SINGLE)
case(id, "pending", "told", **UNKNOWN)
case(id, "pending", "machine network", cluster=NO_NETWORK)
case("has-default-route", "success")
six = Route(interface="eth0", gateway="fe80::1", destination="::", family=10)
case("has-default-route", "success", inventory=inventory(routes=(six,)))
case("has-default-route", "failure", "0 routes", inventory=inventory(routes=None))
link = Route(interface="eth0", gateway="", destination="0.0.0.0")
case("has-default-route", "failure", "1 routes", inventory=inventory(routes=(link,)))
case("has-default-route", "pending", **UNKNOWN)

id = "non-overlapping-subnets"


def cards(*addresses: str) -> Any:
    """An inventory with a card for each address."""
    return inventory(interfaces=tuple(interface(f"eth{n}", each) for n, each in enumerate(addresses)))


case(id, "success")
case(id, "success", inventory=inventory(interfaces=None))
case(id, "success", inventory=inventory(interfaces=(interface("eth0", "192.0.2.1/24", "192.0.2.2/24"),)))
case(id, "success", inventory=cards("192.0.2.1/25", "192.0.2.129/25", "fe80::1/64", "fe80::2/64"))
case(id, "success", inventory=cards("2001:db8::1/64", "2001:db8::2/64"))
case(
    id,
    "failure",
    "192.0.2.0/24 on eth0 and 192.0.2.0/24 on eth1",
    inventory=cards("192.0.2.1/24", "192.0.2.2/24"),
)
wide = cards("198.51.100.1/24", "10.1.0.1/16", "10.0.0.1/8", "10.2.0.1/16")
case(id, "failure", "10.0.0.0/8 on eth2 and 10.1.0.0/16 on eth1 overlap", inventory=wide)
case(id, "pending", **UNKNOWN)
case(id, "error", cluster={"cluster_networks": NONSENSE})

off = (NtpSource(source_name="ntp.example.com", source_state="unreachable"),)
case("ntp-synced", "success")
case("ntp-synced", "failure", "ntp.example.com (unreachable)", ntp_sources=off)
case("ntp-synced", "failure", "no time server", ntp_sources=())
case("ntp-synced", "pending", ntp_sources=None)
case("ntp-synced", "suppressed", ntp_sources=off, progress=REBOOTED)
id = "time-synced-between-host-and-service"
case(id, "success", clock_offset_s=3600)
case(id, "success", clock_offset_s=-1200)
case(id, "failure", "60 minutes ahead of", clock_offset_s=3601)
case(id, "failure", "20 minutes behind the service's; 20 are", clock_offset_s=-1201)
case(id, "pending", clock_offset_s=None)
id = "container-images-available"
case(id, "success", "can pull")
case(id, "success", "not tried", images=())
case(id, "failure", "pull: one", images=(ContainerImageAvailability(name="one", result="failure"),))
crawling = ContainerImageAvailability(name="two", result="success", size_bytes=10, download_rate=0.0001)
case(id, "failure", "pull: two", images=(crawling,))
there = ContainerImageAvailability(name="three", result="success", size_bytes=10)
case(id, "success", "can pull", images=(there,))
id = "ignition-downloadable"
case(id, "suppressed")
case(id, "pending", cluster=DAY_2)
case(id, "success", cluster=DAY_2, api_vip_connectivity=told())
case(id, "error", cluster=DAY_2, api_vip_connectivity=ApiVipConnectivityResponse())
refusal = ApiVipConnectivityResponse(is_success=False, url="https://a.example.com", download_error="no route")
case(id, "failure", "https://a.example.com: no route", cluster=DAY_2, api_vip_connectivity=refusal)
blank = ApiVipConnectivityResponse(is_success=False)
case(id, "failure", "the cluster: no reason", cluster=DAY_2, api_vip_connectivity=blank)

# Peers.
id = "belongs-to-majority-group"
unanswered = Peer(silent=("192.0.2.12 did not answer ARP from eth0",))
other_net = Peer(silent=("198.51.100.12 did not answer ARP from eth1",))
mumbled = Peer(silent=("nothing that makes sense",))
out: dict[str, Any] = {"groups": ()}
fenced = {"fencing_credentials": "sealed"}
case(id, "success", "all reach each other")
case(id, "success", "need not", cluster=SINGLE, **out)
case(id, "success", "need not", cluster=DAY_2, **out)
case(id, "pending", "told", **UNKNOWN)
case(id, "pending", "machine network", cluster=NO_NETWORK)
case(id, "pending", "there are 2 hosts; from 3 on", asked="4", **out)
case(id, "pending", "asked its peers", asked="", **out)
pair = {"control_plane_count": 2}
case(id, "pending", "from 3 on", asked="4", cluster=pair, **out)
case(id, "failure", "outside", asked="4", cluster=pair, **out, **fenced)
case(id, "failure", "outside", asked="4", cluster=pair, peers_=(fenced,), **out)
case(id, "error", cluster={"machine_networks": (MachineNetwork(cidr="nothing"),)})
case(id, "error", cluster=YOURS | {"cluster_networks": NONSENSE})
said = "192.0.2.0/24: host-2 (192.0.2.12 did not answer ARP from eth0)"
case(
    id, "failure", f"host-1 does not reach all of its peers in {said}", peers={"host-id-2": unanswered}, **out
)
case(id, "failure", "gone (192.0.2.12", peers={"gone": unanswered}, **out)
case(id, "failure", "host-2 (nothing", peers={"host-id-2": mumbled}, **out)
case(id, "failure", "host-1 is outside the largest group", peers={"host-id-2": other_net}, **out)
case(
    id,
    "failure",
    "not reached in 192.0.2.0/24 by host-2",
    peers_=({"peers": {"host-id-1": unanswered}}, {}),
    **out,
)
case(id, "failure", "outside", peers_=({"peers": {"host-id-1": other_net}}, {}), **out)
case(id, "success", cluster=YOURS, groups=("IPv4",))
case(id, "success", cluster=BALANCED, groups=("IPv4",))
case(id, "failure", "peers in IPv4", cluster=YOURS, groups=("192.0.2.0/24",), peers={"host-id-2": unanswered})
case(id, "failure", "in 2001:db8::/64", cluster=two)

id = "mtu-valid"
small = {"host-id-2": Peer(small_packets=("192.0.2.12 does not get packets as large as the MTU of eth0",))}
afar = {"host-id-2": Peer(small_packets=("198.51.100.12 does not get packets as large as the MTU of eth1",))}
case(id, "success", "reach all")
case(id, "failure", "of host-1 do not reach its peers: host-2 (192.0.2.12 does not", peers=small)
case(id, "success", peers=afar)
case(id, "failure", peers=afar, cluster=YOURS)
case(id, "suppressed", peers=small, cluster=SINGLE)
case(id, "success", "need not", peers=small, cluster=DAY_2)
case(id, "pending", "told", **UNKNOWN)
case(id, "pending", "asked", asked="")

for id, far, limit, shown in (
    (
        "sufficient-network-latency-requirement-for-role",
        Peer(rtt_ms=150),
        Peer(rtt_ms=100),
        "(150 ms); 100 ms",
    ),
    ("sufficient-packet-loss-requirement-for-role", Peer(loss_percent=1), Peer(), "(1 %); 0 %"),
):
    beyond = {"host-id-2": far}
    worker = {"suggested_role": "worker"}
    case(id, "success", peers={"host-id-2": limit})
    case(id, "failure", f"host-2 {shown}", peers=beyond)
    case(id, "success", peers=beyond, peers_=(worker, {}))
    case(id, "success", peers=beyond, peers_=(worker, {}), **worker)
    case(id, "success", peers=beyond, suggested_role="auto-assign")
    case(id, "success", peers=beyond, cluster=DAY_2)
    case(id, "success", peers=beyond, cluster=SINGLE)
    case(id, "success", peers={"gone": far})
    case(id, "pending", "made of", **UNKNOWN)
    case(id, "pending", "asked", asked="")

id = "no-ip-collisions-in-network"
twice = ("192.0.2.11 52:54:00:00:00:01 52:54:00:00:00:02",)
case(id, "success")
case(id, "success", "exists", cluster=DAY_2, collisions=twice)
case(id, "failure", "192.0.2.11 (52:54:00:00:00:01 and 52:54:00:00:00:02)", collisions=twice)
