# SPDX-License-Identifier: Apache-2.0
"""The interface: routes, what they decode, whom they let in, what they answer."""
