# SPDX-License-Identifier: Apache-2.0
"""The console of a host: what somebody sees and can do who stands before it."""
