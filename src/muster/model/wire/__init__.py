# SPDX-License-Identifier: Apache-2.0
"""The objects of the service's interface, in the words that its clients know."""
