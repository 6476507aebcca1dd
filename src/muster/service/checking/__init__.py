# SPDX-License-Identifier: Apache-2.0
"""What people write, judged while they write it; nothing is changed."""
