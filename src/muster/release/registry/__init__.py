# SPDX-License-Identifier: Apache-2.0
"""A registry that serves a content store, read-only, by the OCI distribution API."""
