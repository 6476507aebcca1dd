# SPDX-License-Identifier: Apache-2.0
"""What follows from what hosts tell: networks, roles, disks, names, groups, each with its reason."""
