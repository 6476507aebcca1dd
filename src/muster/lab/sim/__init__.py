# SPDX-License-Identifier: Apache-2.0
"""Machines made of nothing: modelled hosts, switches, names, clocks, registries and disks."""
