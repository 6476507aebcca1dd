# SPDX-License-Identifier: Apache-2.0
"""What is asked, seen and decided: pure data, no input or output."""
