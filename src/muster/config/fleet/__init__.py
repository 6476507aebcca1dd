# SPDX-License-Identifier: Apache-2.0
"""Many sites from one: a template site, and a table with a row for each site that says what differs there."""
