# SPDX-License-Identifier: Apache-2.0
"""Generates sites of any size: static networking with a bond and a VLAN on every host."""

from __future__ import annotations

from ipaddress import IPv4Address
from pathlib import Path

INSTALL_CONFIG = """\
apiVersion: v1
metadata:
  name: big
baseDomain: example.com
controlPlane:
  name: master
  replicas: 3
compute:
- name: worker
  replicas: {workers}
networking:
  machineNetwork:
  - cidr: 10.16.0.0/16
platform:
  baremetal:
    apiVIPs:
    - 10.16.255.5
    ingressVIPs:
    - 10.16.255.6
pullSecret: '{{"auths": {{"registry.example.com": {{"auth": "ZmFrZTpmYWtl"}}}}}}'
sshKey: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKNCZ5TiF1TuoGOvLEDz2CYS4DHWj3Op9p1vAUJqYs2b admin@example.com
"""

HOST = """\
- hostname: {name}
  role: {role}
  interfaces:
  - name: eno1
    macAddress: {mac1}
  - name: eno2
    macAddress: {mac2}
  rootDeviceHints:
    deviceName: /dev/disk/by-path/pci-0000:65:00.0-nvme-1
  networkConfig:
    interfaces:
    - name: eno1
      type: ethernet
      state: up
      mac-address: {mac1}
      ipv4:
        enabled: false
      ipv6:
        enabled: false
    - name: eno2
      type: ethernet
      state: up
      mac-address: {mac2}
      ipv4:
        enabled: false
      ipv6:
        enabled: false
    - name: bond0
      type: bond
      state: up
      mtu: 9000
      link-aggregation:
        mode: 802.3ad
        options:
          miimon: "100"
        port:
        - eno1
        - eno2
    - name: bond0.100
      type: vlan
      state: up
      vlan:
        base-iface: bond0
        id: 100
      ipv4:
        enabled: true
        dhcp: false
        address:
        - ip: {ip}
          prefix-length: 16
    dns-resolver:
      config:
        server:
        - 10.16.255.1
    routes:
      config:
      - destination: 0.0.0.0/0
        next-hop-address: 10.16.255.254
        next-hop-interface: bond0.100
"""


def generate_site(directory: Path, hosts: int) -> None:
    """Write a valid site with so many hosts."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "install-config.yaml").write_text(INSTALL_CONFIG.format(workers=hosts - 3))
    parts = ["apiVersion: v1beta1\nkind: AgentConfig\nrendezvousIP: 10.16.0.1\nhosts:\n"]
    for index in range(hosts):
        role = "master" if index < 3 else "worker"
        parts.append(
            HOST.format(
                name=f"{role}-{index:03}",
                role=role,
                mac1=f"52:54:00:01:{index >> 8:02x}:{index & 255:02x}",
                mac2=f"52:54:00:02:{index >> 8:02x}:{index & 255:02x}",
                ip=IPv4Address("10.16.0.1") + index,
            )
        )
    (directory / "agent-config.yaml").write_text("".join(parts))
