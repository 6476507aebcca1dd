# SPDX-License-Identifier: Apache-2.0
"""Rehearsals that take many minutes each: `make lab`."""
