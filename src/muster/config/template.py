# SPDX-License-Identifier: Apache-2.0
"""The file that users start from."""

from __future__ import annotations

from typing import Final

AGENT_CONFIG_TEMPLATE: Final = """\
# agent-config.yaml: the hosts of the site, and which of them the others meet at.
# `muster explain agent-config` tells all fields; `muster check` finds mistakes.
# The values below are examples: replace them all.
apiVersion: v1beta1
kind: AgentConfig
metadata:
  name: site1                           # the cluster's name, as in install-config.yaml
# The host with this address runs the installation and is the last to join.
rendezvousIP: 192.0.2.10
# Time servers; without any, the default ones of the operating system are asked.
# additionalNTPSources:
# - 192.0.2.1
hosts:
- hostname: master-0
  role: master                          # master, worker or arbiter
  interfaces:                           # hosts find their settings by MAC address
  - name: eno1
    macAddress: 52:54:00:00:00:10
  rootDeviceHints:                      # without hints: the first disk that fits
    deviceName: /dev/sda
  networkConfig:                        # NMState; without it: DHCP
    interfaces:
    - name: eno1
      type: ethernet
      state: up
      mac-address: 52:54:00:00:00:10
      ipv4:
        enabled: true
        dhcp: false
        address:
        - ip: 192.0.2.10
          prefix-length: 24
    dns-resolver:
      config:
        server:
        - 192.0.2.1
    routes:
      config:
      - destination: 0.0.0.0/0
        next-hop-address: 192.0.2.1
        next-hop-interface: eno1
"""
