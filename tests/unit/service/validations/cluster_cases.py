# SPDX-License-Identifier: Apache-2.0
"""Every answer of every validation of clusters."""

from __future__ import annotations

from typing import Any

from muster.model.wire.cluster import (
    ApiVip,
    ClusterNetwork,
    IngressVip,
    LoadBalancer,
    MachineNetwork,
    Platform,
    PlatformExternal,
    ServiceNetwork,
)
from muster.model.wire.reports import FreeNetworkAddresses, VerifiedVip
from muster.service.state import ReleaseSight
from tests.unit.service.validations.host_cases import Case

CASES: list[Case] = []


def case(id: str, status: str, says: str = "", **with_: Any) -> None:
    """Add one; hosts_ are the values of its hosts."""
    CASES.append(Case(id, status, says, with_))


UNHEARD = ({"networks": ()}, {"networks": ()}, {"networks": ()})
NO_NETWORK: dict[str, Any] = {"machine_networks": ()}
YOURS: dict[str, Any] = {"user_managed_networking": True}
SINGLE: dict[str, Any] = {"control_plane_count": 1}
BALANCED: dict[str, Any] = {"load_balancer": LoadBalancer(type="user-managed")}
NONSENSE = (MachineNetwork(cidr="nothing"),)

# Networks.
case("machine-cidr-defined", "success", "is known")
case("machine-cidr-defined", "success", "needs no", **NO_NETWORK, **YOURS)
case("machine-cidr-defined", "failure", **NO_NETWORK)
case("machine-cidr-defined", "failure", **NO_NETWORK, **YOURS, **SINGLE)
case("machine-cidr-defined", "pending", **NO_NETWORK, hosts_=UNHEARD)
case("cluster-cidr-defined", "success")
case("cluster-cidr-defined", "failure", cluster_networks=())
case("service-cidr-defined", "success")
case("service-cidr-defined", "failure", service_networks=())

id = "no-cidrs-overlapping"
case(id, "success")
case(id, "success", machine_networks=(MachineNetwork(cidr="10.0.0.0/16"), MachineNetwork(cidr="10.0.1.0/24")))
inside = (MachineNetwork(cidr="10.129.0.0/24"),)
case(
    id,
    "failure",
    "machine network 10.129.0.0/24 and the cluster network 10.128.0.0/14",
    machine_networks=inside,
)
both = (ServiceNetwork(cidr="172.30.0.0/16"), ServiceNetwork(cidr="172.30.1.0/24"))
case(id, "failure", "service network 172.30.0.0/16 and the service network", service_networks=both)
case(id, "failure", "cluster network", service_networks=(ServiceNetwork(cidr="10.130.0.0/16"),))
case(id, "pending", **NO_NETWORK)
case(id, "success", **NO_NETWORK, **YOURS)
case(id, "pending", cluster_networks=())
case(id, "error", machine_networks=NONSENSE)

id = "networks-same-address-families"
six = MachineNetwork(cidr="2001:db8::/64")
dual: dict[str, Any] = {
    "cluster_networks": (
        ClusterNetwork(cidr="10.128.0.0/14", host_prefix=23),
        ClusterNetwork(cidr="2001:db8:1::/48", host_prefix=64),
    ),
    "service_networks": (ServiceNetwork(cidr="172.30.0.0/16"), ServiceNetwork(cidr="2001:db8:2::/112")),
}
four = MachineNetwork(cidr="192.0.2.0/24")
case(id, "success")
case(id, "success", machine_networks=(four, MachineNetwork(cidr="198.51.100.0/24")))
case(id, "success", machine_networks=(four, six), **dual)
case(id, "failure", "machine IPv4, cluster IPv4 and IPv6, service IPv4 and IPv6", **dual)
case(id, "failure", "machine IPv6 and IPv4", machine_networks=(six, four), **dual)
case(id, "success", **dual, **YOURS)
case(id, "failure", service_networks=(ServiceNetwork(cidr="2001:db8:2::/112"),), **YOURS)
case(id, "pending", service_networks=())
case(id, "error", machine_networks=NONSENSE)

id = "network-prefix-valid"


def pods(cidr: str, prefix: int | None) -> dict[str, Any]:
    """A cluster with this network for pods."""
    return {"cluster_networks": (ClusterNetwork(cidr=cidr, host_prefix=prefix),)}


case(id, "success")
case(
    id,
    "failure",
    "prefix 26 in 10.128.0.0/14 does not work: it has to be from 1 to 25",
    **pods("10.128.0.0/14", 26),
)
case(id, "failure", "prefix 0", **pods("10.128.0.0/14", None))
case(id, "failure", "room for 2 hosts with a prefix of 24 each; 4 are needed", **pods("10.128.0.0/23", 24))
case(id, "success", **pods("10.128.0.0/24", 24), hosts_=({},))
case(id, "success", network_type="Calico", **pods("10.128.0.0/14", None))
replaced = '{"networking": {"networkType": "Calico"}}'
case(id, "success", install_config_overrides=replaced, **pods("10.128.0.0/14", None))
case(id, "failure", install_config_overrides='{"networking": 1}', **pods("10.128.0.0/14", None))
case(id, "pending", cluster_networks=())
case(id, "error", "nothing", **pods("nothing", 23))

id = "machine-cidr-equals-to-calculated-cidr"
case(id, "success", "is that of")
case(id, "success", "yours", **YOURS)
case(id, "success", "yours", **BALANCED)
case(id, "success", **NO_NETWORK)
wider = (MachineNetwork(cidr="192.0.0.0/16"),)
case(
    id,
    "failure",
    "192.0.2.5 is in 192.0.2.0/24 of the hosts, and the machine network is 192.0.0.0/16",
    machine_networks=wider,
)
case(id, "failure", "network that 203.0.113.5 is in", api_vips=(ApiVip(ip="203.0.113.5"),))
case(id, "failure", "network that x is in", api_vips=(ApiVip(ip="x"),))
case(id, "success", api_vips=())
case(id, "pending", "virtual addresses", api_vips=(), ingress_vips=())
case(id, "pending", "no host", hosts_=UNHEARD)

id = "network-type-valid"
case(id, "success")
case(id, "failure", "no network type Own", network_type="Own")
case(id, "failure", "IPv6", network_type="OpenShiftSDN", **dual)
case(id, "failure", "single node", network_type="OpenShiftSDN", **SINGLE)
case(id, "success", network_type="OpenShiftSDN")
case(id, "failure", "DHCP", vip_dhcp_allocation=True)
id = "custom-manifests-requirements-satisfied"
case(id, "success", "comes with the release")
case(id, "failure", "Cilium", network_type="Cilium")
case(id, "success", "there are manifests", network_type="Cilium", manifests=("manifests/cilium.yaml",))

# Virtual addresses.
VIPS: tuple[tuple[Any, Any], ...] = (("api", ApiVip), ("ingress", IngressVip))
for name, vip in VIPS:
    field = f"{name}_vips"
    none: dict[str, Any] = {field: ()}
    lease = none | {"vip_dhcp_allocation": True}
    id = f"{name}-vips-defined"
    case(id, "success", "is given")
    case(id, "success", "needs no", **none, **YOURS)
    case(id, "success", "needs no", **none, **SINGLE)
    case(id, "failure", field, **none)
    case(id, "failure", "DHCP", **lease)
    case(id, "pending", **lease, **NO_NETWORK)

    def given(ip: str, verification: Any = None, *, of: Any = vip, named: str = field) -> dict[str, Any]:
        """A cluster with this virtual address."""
        return {named: (of(ip=ip, verification=verification),)}

    id = f"{name}-vips-valid"
    free = FreeNetworkAddresses(network="192.0.2.0/24", free_addresses=("192.0.2.7",))
    looked: Any = ({"free_addresses": (free,)}, {}, {})
    heard: Any = (
        {"verified_vips": (VerifiedVip(vip="192.0.2.7", vip_type=name, verification="failed"),)},
        {},
        {},
    )
    case(id, "success", "free: 192.0.2.7", **given("192.0.2.7", "succeeded"))
    case(id, "success", "needs no", **none, **YOURS)
    case(id, "pending", "not given", **none)
    case(id, "pending", "no host", hosts_=UNHEARD)
    case(id, "pending", "no host", **NO_NETWORK)
    case(id, "failure", "it answered host-1", **given("192.0.2.7", "failed"), hosts_=heard)
    case(id, "failure", "192.0.2.7 in 192.0.2.0/24 is in use", **given("192.0.2.7", "failed"))
    case(id, "failure", "found out", **given("192.0.2.7", "unverified"))
    case(id, "success", **given("192.0.2.7"), hosts_=looked)
    case(id, "failure", "is in use", **given("192.0.2.8"), hosts_=looked)
    case(id, "failure", "203.0.113.7 is not in the machine network 192.0.2.0/24", **given("203.0.113.7"))
    case(id, "failure", "x is not in", **given("x"))
    case(id, "failure", "broadcast address of 192.0.2.0/24", **given("192.0.2.255"))
    case(id, "success", **given("192.0.2.7"), **BALANCED)

# Hosts.
id = "all-hosts-are-ready-to-install"
case(id, "success")
case(id, "failure", "host-2 (insufficient)", hosts_=({}, {"status": "insufficient"}, {}))
seven = tuple({"status": "discovering"} for _ in range(7))
case(id, "failure", "host-5 (discovering) and 2 more", hosts_=seven)
id = "sufficient-masters-count"
worker: dict[str, Any] = {"suggested_role": "worker"}
case(id, "success")
case(id, "success", hosts_=({}, {}, {}, worker))
case(
    id,
    "failure",
    "2 control-plane hosts, and 1 hosts without a role; 3",
    hosts_=({}, {}, {"suggested_role": "auto-assign"}),
)
case(id, "failure", "there are 4", hosts_=({}, {}, {}, {"role": "master"}))
case(id, "success", hosts_=({},), **SINGLE)
case(id, "failure", "there are 2 hosts, 1 of them", hosts_=({}, worker), **SINGLE)
pair: dict[str, Any] = {"control_plane_count": 2}
case(id, "failure", "arbiter", hosts_=({}, {}), **pair)
case(id, "success", hosts_=({}, {}, {"role": "arbiter"}), **pair)
fenced: dict[str, Any] = {"fencing_credentials": "sealed"}
case(id, "success", hosts_=(fenced, fenced), **pair)
case(id, "failure", hosts_=(fenced, {}), **pair)
id = "ntp-server-configured"
case(id, "success")
case(id, "success", hosts_=({"clock_offset_s": 900}, {"clock_offset_s": None}))
case(id, "success", hosts_=({"clock_offset_s": 120}, {"clock_offset_s": -120}))
case(id, "failure", "host-1 is 5 minutes ahead of that of host-2", hosts_=({"clock_offset_s": 300}, {}))

# Settings.
case("dns-domain-defined", "success")
case("dns-domain-defined", "failure", base_dns_domain="")
case("pull-secret-set", "success")
case("pull-secret-set", "failure", pull_secret="")
oracle: dict[str, Any] = {
    "platform": Platform(type="external", external=PlatformExternal(platform_name="oci"))
}
case("platform-requirements-satisfied", "success", "nothing else")
case("platform-requirements-satisfied", "failure", "Oracle", **oracle)
case("platform-requirements-satisfied", "success", "Oracle", manifests=("manifests/oci.yaml",), **oracle)

# Sites that install themselves.
case("release-fetched", "suppressed")
case("release-fetched", "pending", "being fetched", release=ReleaseSight())
case("release-fetched", "failure", "nobody answers", release=ReleaseSight(trouble="nobody answers"))
case("release-fetched", "success", release=ReleaseSight(is_here=True))
case("rendezvous-ip-unique", "suppressed")
case("rendezvous-ip-unique", "success", rivals=())
case("rendezvous-ip-unique", "failure", "52:54:00:00:00:09", rivals=("52:54:00:00:00:09",))
case("no-hosts-left-behind", "suppressed")
case("no-hosts-left-behind", "success", strangers={})
case("no-hosts-left-behind", "failure", "restarted: b, c", strangers={"2": "c", "1": "b"})
