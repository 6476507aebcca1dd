# SPDX-License-Identifier: Apache-2.0
"""Ignition configs: what the live system finds on its disk when it boots."""
