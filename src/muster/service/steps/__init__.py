# SPDX-License-Identifier: Apache-2.0
"""What a host is to do next."""
