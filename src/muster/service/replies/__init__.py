# SPDX-License-Identifier: Apache-2.0
"""What hosts answer to their steps: read, made plain, and taken over where it says something new."""
