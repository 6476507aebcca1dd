# SPDX-License-Identifier: Apache-2.0
"""Large files over HTTP: where to listen, what of a file is wanted, and how it gets to the client."""
