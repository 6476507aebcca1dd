# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser, against the real service in a process of its own, with modelled hosts."""
