# SPDX-License-Identifier: Apache-2.0
"""Machines made of QEMU: a site is rehearsed with its own names, cards, disks and networks."""
