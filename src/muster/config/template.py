# SPDX-License-Identifier: Apache-2.0
"""The files that users start from."""

from __future__ import annotations

from textwrap import indent
from typing import Final

_NETWORK: Final = """\
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
""" + indent(_NETWORK, "    ")

IMAGE_BASED_CONFIG_TEMPLATE: Final = """\
# image-based-config.yaml: what turns the copy of a seed into the cluster of this site.
# install-config.yaml beside it names the cluster: platform none, one control-plane host, no workers.
# `muster explain image-based-config` tells all fields; `muster check` finds mistakes.
# The values below are examples: replace them all.
apiVersion: v1beta1
kind: ImageBasedConfig
metadata:
  name: site1                           # the cluster's name, as in install-config.yaml
hostname: site1.example.com
# Registry that holds the images of the release from now on; without it, that of the seed.
# releaseRegistry: registry.example.com:5000
# Time servers; without any, those of the seed are asked.
# additionalNTPSources:
# - 192.0.2.1
# Labels that the node gets.
# nodeLabels:
#   example.com/region: north
networkConfig:                          # NMState; without it: DHCP
""" + indent(_NETWORK, "  ")

IMAGE_BASED_INSTALLATION_TEMPLATE: Final = """\
# image-based-installation-config.yaml: how a seed gets onto the disk of a machine, before its site is known.
# `muster explain image-based-installation-config` tells all fields; `muster check` finds mistakes.
# The values below are examples: replace them all.
apiVersion: v1beta1
kind: ImageBasedInstallationConfig
metadata:
  name: factory
# The cluster to copy, and its version: they have to say the same.
seedImage: registry.example.com/seeds/edge:4.21.0
seedVersion: '4.21.0'
# A name that is the same on every machine of the series.
installationDisk: /dev/disk/by-path/pci-0000:65:00.0-nvme-1
# Logins at the registries, as one line of JSON: '{"auths": {"registry.example.com": {"auth": "..."}}}'
pullSecret:
# Who may log in to the live system as core, while the disk is written.
# sshKey: ssh-ed25519 AAAA... admin@example.com
# Where the partition for /var/lib/containers begins: a size with K, M, G, T or P; with a minus from the end.
# extraPartitionStart: '-120G'
# Switch the machine off when the seed is on its disk.
# shutdown: true
# Static network of the live system, as NMState; without it: DHCP.
# networkConfig:
#   interfaces:
#   - name: eno1
#     type: ethernet
#     state: up
#     mac-address: 52:54:00:00:00:10
#     ipv4:
#       enabled: true
#       dhcp: false
#       address:
#       - ip: 192.0.2.10
#         prefix-length: 24
# Mirrors, if the registries cannot be reached directly, and the certificate that signed theirs.
# imageDigestSources:
# - source: quay.io/openshift-release-dev/ocp-release
#   mirrors:
#   - registry.example.com/openshift/release-images
# additionalTrustBundle: |
#   -----BEGIN CERTIFICATE-----
#   -----END CERTIFICATE-----
"""
