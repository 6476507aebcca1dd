# SPDX-License-Identifier: Apache-2.0
"""Where the log and the state are kept: in memory, in SQLite, or in PostgreSQL."""
