# SPDX-License-Identifier: Apache-2.0
"""Makes valid sites of many shapes, for properties that have to hold for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import yaml

Body: TypeAlias = dict[str, Any]
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKNCZ5TiF1TuoGOvLEDz2CYS4DHWj3Op9p1vAUJqYs2b admin@example.com"


@dataclass(frozen=True)
class Shape:
    """What can differ between sites."""

    name: str = "site1"
    masters: int = 3
    workers: int = 0
    platform: str = "baremetal"
    static: bool = True
    ipv6: bool = False
    roles: bool = True
    mirrors: bool = False
    proxy: bool = False
    ntp: bool = False
    bmc: bool = False
    namespace: str = ""
    hosts_in_install_config: bool = False


def build_site(shape: Shape) -> dict[str, bytes | None]:
    """The files of a valid site."""
    hosts = [_host(shape, index) for index in range(shape.masters + shape.workers)]
    install = _install_config(shape)
    agent: Body = {"apiVersion": "v1beta1", "kind": "AgentConfig", "rendezvousIP": _address(shape, 0)}
    if shape.ntp:
        agent["additionalNTPSources"] = ["ntp.example.com", "198.51.100.1"]
    if shape.hosts_in_install_config and shape.platform == "baremetal":
        install["platform"]["baremetal"]["hosts"] = [_baremetal_host(host) for host in hosts]
    else:
        agent["hosts"] = hosts
    return {
        "install-config.yaml": yaml.safe_dump(install, sort_keys=False).encode(),
        "agent-config.yaml": yaml.safe_dump(agent, sort_keys=False).encode(),
    }


def _network(shape: Shape) -> str:
    return "2001:db8::/64" if shape.ipv6 else "192.0.2.0/24"


def _address(shape: Shape, index: int) -> str:
    return f"2001:db8::{index + 0x10:x}" if shape.ipv6 else f"192.0.2.{index + 10}"


def _install_config(shape: Shape) -> Body:
    networking: Body = {"machineNetwork": [{"cidr": _network(shape)}]}
    if shape.ipv6:
        networking["clusterNetwork"] = [{"cidr": "fd01::/48", "hostPrefix": 64}]
        networking["serviceNetwork"] = ["fd02::/112"]
    metadata = {"name": shape.name} | ({"namespace": shape.namespace} if shape.namespace else {})
    vips = {"apiVIPs": [_address(shape, 200)], "ingressVIPs": [_address(shape, 201)]}
    body: Body = {
        "apiVersion": "v1",
        "metadata": metadata,
        "baseDomain": "example.com",
        "controlPlane": {"name": "master", "replicas": shape.masters},
        "compute": [{"name": "worker", "replicas": shape.workers}],
        "networking": networking,
        "platform": {shape.platform: vips if shape.platform == "baremetal" else {}},
        "pullSecret": '{"auths": {"mirror.example.com:5000": {"auth": "ZmFrZTpmYWtl"}}}',
        "sshKey": KEY,
    }
    if shape.mirrors:
        names = ("ocp-release", "ocp-v4.0-art-dev")
        body["imageDigestSources"] = [
            {
                "source": f"quay.io/openshift-release-dev/{name}",
                "mirrors": [f"mirror.example.com:5000/ocp/{name}"],
            }
            for name in names
        ]
    if shape.proxy:
        body["proxy"] = {"httpProxy": "http://proxy.example.com:3128", "noProxy": ".example.com"}
    return body


def _host(shape: Shape, index: int) -> Body:
    role = "master" if index < shape.masters else "worker"
    mac = f"52:54:00:aa:00:{index:02x}"
    host: Body = {"hostname": f"host-{index}", "interfaces": [{"name": "eno1", "macAddress": mac}]}
    if shape.roles:
        host["role"] = role
    if shape.bmc:
        host["BMC"] = {
            "address": f"redfish+https://198.51.100.{index + 20}:443/redfish/v1/Systems/1",
            "username": "admin",
            "password": "not-real",
        }
    if shape.static:
        host["networkConfig"] = _network_config(shape, index, mac)
    return host


def _network_config(shape: Shape, index: int, mac: str) -> Body:
    family, prefix = ("ipv6", 64) if shape.ipv6 else ("ipv4", 24)
    address = {"ip": _address(shape, index), "prefix-length": prefix}
    settings: Body = {"enabled": True, "dhcp": False, "address": [address]}
    if shape.ipv6:
        settings["autoconf"] = False
    destination, gateway = ("::/0", "2001:db8::1") if shape.ipv6 else ("0.0.0.0/0", "192.0.2.1")
    route = {"destination": destination, "next-hop-address": gateway, "next-hop-interface": "eno1"}
    return {
        "interfaces": [
            {"name": "eno1", "type": "ethernet", "state": "up", "mac-address": mac, family: settings}
        ],
        "dns-resolver": {"config": {"server": [gateway]}},
        "routes": {"config": [route]},
    }


def _baremetal_host(host: Body) -> Body:
    found = {"name": host["hostname"], "bootMACAddress": host["interfaces"][0]["macAddress"]}
    for old, new in (("role", "role"), ("BMC", "bmc"), ("networkConfig", "networkConfig")):
        if old in host:
            found[new] = host[old]
    return found
