# SPDX-License-Identifier: Apache-2.0
"""How hosts of a medium without a site find each other: one is chosen, the others join it by a code."""
