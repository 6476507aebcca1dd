# SPDX-License-Identifier: Apache-2.0
"""The service as those see it who call it: agents, installers, consoles, people's commands."""
