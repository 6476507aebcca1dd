# SPDX-License-Identifier: Apache-2.0
"""Media: reading, customizing, copying and writing images, byte by byte and without unpacking them."""
