# SPDX-License-Identifier: Apache-2.0
"""Files → model: every mistake is named with its file, line and column, and a fix."""
