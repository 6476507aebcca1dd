# SPDX-License-Identifier: Apache-2.0
"""Many installations in a model, each with troubles of its own that a seed decides."""
