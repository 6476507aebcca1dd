# SPDX-License-Identifier: Apache-2.0
"""What a CoreOS live image keeps room for: Ignition, kernel arguments, network settings, a minimal twin."""
