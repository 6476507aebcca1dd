# SPDX-License-Identifier: Apache-2.0
"""What comes into a store and goes out of it: layouts, archives, the storage of registries."""
