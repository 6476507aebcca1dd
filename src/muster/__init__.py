# SPDX-License-Identifier: Apache-2.0
"""Muster installs a site's first cluster from bare machines, with nothing else in the room."""

__version__ = "0.1.0"
