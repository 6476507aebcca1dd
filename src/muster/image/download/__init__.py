# SPDX-License-Identifier: Apache-2.0
"""How files come over the network: one HTTP client, transfers that go on where they stopped, unpacking."""
