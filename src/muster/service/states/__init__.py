# SPDX-License-Identifier: Apache-2.0
"""Which state follows which: tables, and what they need to know."""
