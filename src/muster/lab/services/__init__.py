# SPDX-License-Identifier: Apache-2.0
"""What the lab offers to its machines at its own addresses: DHCP, DNS, NTP, a registry, files."""
