# SPDX-License-Identifier: Apache-2.0
"""Debian packages, got with an apt of our own that leaves that of the machine alone."""
