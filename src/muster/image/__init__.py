# SPDX-License-Identifier: Apache-2.0
"""Plan → bootable bytes: Ignition, the areas of a CoreOS ISO, boot files, configuration media."""
