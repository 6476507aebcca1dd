# SPDX-License-Identifier: Apache-2.0
"""Bundles for whoever has to find out what went wrong: no secrets, and the probable cause first."""
