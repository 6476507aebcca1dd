# SPDX-License-Identifier: Apache-2.0
"""The content store: a folder, or a medium, that holds images by their digests; an OCI image layout."""
