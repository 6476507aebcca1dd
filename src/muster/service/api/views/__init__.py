# SPDX-License-Identifier: Apache-2.0
"""What the service knows, as clients are shown it."""
