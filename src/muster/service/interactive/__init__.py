# SPDX-License-Identifier: Apache-2.0
"""The service of a site that has no files: people describe its one cluster in a browser."""
