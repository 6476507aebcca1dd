# SPDX-License-Identifier: Apache-2.0
"""The service on the host that all others meet at: its site comes from the medium, and installs itself."""
