# SPDX-License-Identifier: Apache-2.0
"""The service: what hosts tell becomes facts, facts become verdicts and states, and those become steps."""
