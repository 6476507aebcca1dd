# SPDX-License-Identifier: Apache-2.0
"""What the service can ask a host to do: one file for each kind of step."""
