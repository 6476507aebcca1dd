# SPDX-License-Identifier: Apache-2.0
"""Plan → Ignition: one small file per concern, joined without conflicts."""
