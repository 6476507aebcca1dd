# SPDX-License-Identifier: Apache-2.0
"""Copies of whole releases: what belongs to one, where it goes, and the proof that all of it is there."""
