# SPDX-License-Identifier: Apache-2.0
"""What every request passes on its way in, and every answer on its way out."""
