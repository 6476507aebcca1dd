# SPDX-License-Identifier: Apache-2.0
"""What may be asked of the service, and what comes of it: one function for each."""
