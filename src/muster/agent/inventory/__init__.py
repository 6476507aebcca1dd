# SPDX-License-Identifier: Apache-2.0
"""What a host is made of: one small collector for each part, none of which can hold up the others."""
