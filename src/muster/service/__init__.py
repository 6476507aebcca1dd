# SPDX-License-Identifier: Apache-2.0
"""Facts → decisions: the service that hosts meet at."""
