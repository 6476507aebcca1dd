# SPDX-License-Identifier: Apache-2.0
"""Media of image-based installs: what copies a seed, and what makes a site's cluster of the copy."""
