# SPDX-License-Identifier: Apache-2.0
"""What hosts boot to be discovered, made while it is sent: no file per cluster, a few bytes of memory."""
