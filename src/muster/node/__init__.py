# SPDX-License-Identifier: Apache-2.0
"""Host → node: its disk is written, and it comes back from it as a part of the cluster."""
