# SPDX-License-Identifier: Apache-2.0
"""The command line: one file per verb. `__main__` alone prints errors and ends the process."""
