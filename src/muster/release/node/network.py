# SPDX-License-Identifier: Apache-2.0
"""The network of pods on one host: a bridge for its own ones, and a route to those of every other host."""

from __future__ import annotations

import json
from typing import Any, Final

from muster.model.firewall import POD_BRIDGE
from muster.model.ignition import PUBLIC, Config, File
from muster.model.values import Network
from muster.release.node.cluster import Cluster, Member
from muster.release.node.templates import program

_HOME: Final = "/etc/kubernetes/network"
_ANYWHERE: Final = {4: "0.0.0.0/0", 6: "::/0"}
_TO_ALL: Final = {4: "224.0.0.0/4", 6: "ff00::/8"}
_FAMILIES: Final = {4: "ip", 6: "ip6"}
_MODULES: Final = "br_netfilter\nnf_conntrack\noverlay\n"
# Only the bridge of the pods hands frames to the packet filter; muster-node-network sets that on the bridge.
# The firewall would drop what other bridges of a host carry, such as those of virtual machines.
# The kubelet does not start if the last six differ: protectKernelDefaults.
_SYSCTL: Final = """\
net.ipv4.ip_forward = 1
net.ipv6.conf.all.forwarding = 1
net.bridge.bridge-nf-call-iptables = 0
net.bridge.bridge-nf-call-ip6tables = 0
fs.inotify.max_user_instances = 1024
vm.overcommit_memory = 1
vm.panic_on_oom = 0
kernel.panic = 10
kernel.panic_on_oops = 1
kernel.keys.root_maxkeys = 1000000
kernel.keys.root_maxbytes = 25000000
"""


# What plugs pods in knows what it does; NetworkManager keeps out of it.
_UNMANAGED: Final = f"[keyfile]\nunmanaged-devices=interface-name:{POD_BRIDGE};interface-name:veth*\n"


def network(cluster: Cluster, host: Member) -> Config:
    """What connects the pods of a host."""
    files = {
        "/etc/NetworkManager/conf.d/80-kubernetes.conf": _UNMANAGED,
        "/etc/modules-load.d/kubernetes.conf": _MODULES,
        "/etc/sysctl.d/80-kubernetes.conf": _SYSCTL,
        f"{_HOME}/addresses": "".join(f"{address}\n" for address in host.addresses),
        f"{_HOME}/routes": "".join(lines for name, lines in cluster.routes if name != host.name),
        f"{_HOME}/masquerade.nft": render_masquerade(cluster),
    }
    own = (File(path, text.encode(), PUBLIC) for path, text in files.items())
    conflist = File("/etc/cni/net.d/10-pods.conflist", render_conflist(cluster, host).encode())
    return Config((conflist, *own, program("node-network")))


def render_conflist(cluster: Cluster, host: Member) -> str:
    """How pods of a host are plugged in. Addresses are given out anew after a boot: no pod outlives one."""
    subnets = cluster.pod_subnets(host)
    bridge: dict[str, Any] = {
        "type": "bridge",
        "bridge": POD_BRIDGE,
        "isGateway": True,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "dataDir": "/run/cni/networks",
            "ranges": [[{"subnet": str(subnet)}] for subnet in subnets],
            "routes": [{"dst": _ANYWHERE[subnet.version]} for subnet in subnets],
        },
    }
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    body = {"cniVersion": "1.0.0", "name": "pods", "plugins": [bridge, ports]}
    return json.dumps(body, indent=2) + "\n"


def render_masquerade(cluster: Cluster) -> str:
    """Outside of the cluster nobody knows pods: what they send there has the address of their host."""
    rules = "".join(f"    {_rule(pods.cidr)}\n" for pods in cluster.pods)
    return (
        "# The first two lines make that the rules can be loaded again.\n"
        "table inet muster-pods\n"
        "delete table inet muster-pods\n"
        "table inet muster-pods {\n"
        "  chain leave {\n"
        "    type nat hook postrouting priority srcnat; policy accept;\n"
        f"{rules}"
        "  }\n"
        "}\n"
    )


def _rule(pods: Network) -> str:
    family = _FAMILIES[pods.version]
    return f"{family} saddr {pods} {family} daddr != {{ {pods}, {_TO_ALL[pods.version]} }} masquerade"
