# SPDX-License-Identifier: Apache-2.0
"""Bytes → text → tree → model, and the way back: repairs as the smallest change of text."""
