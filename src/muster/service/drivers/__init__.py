# SPDX-License-Identifier: Apache-2.0
"""How each kind of release makes a cluster's files."""
