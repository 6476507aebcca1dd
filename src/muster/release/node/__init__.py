# SPDX-License-Identifier: Apache-2.0
"""Release + cluster → what each host's Ignition has to hold to make a node of the host."""
