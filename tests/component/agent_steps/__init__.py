# SPDX-License-Identifier: Apache-2.0
"""Steps of the agent with the real programs of a host."""
