# SPDX-License-Identifier: Apache-2.0
"""ISO 9660 volumes: reading one, making a small one, and letting a file in one grow."""
