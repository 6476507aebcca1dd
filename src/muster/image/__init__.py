# SPDX-License-Identifier: Apache-2.0
"""Plan → media: everything that machines boot from or are configured with."""
