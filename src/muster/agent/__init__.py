# SPDX-License-Identifier: Apache-2.0
"""On every host: register, ask what to do, do it, report."""
