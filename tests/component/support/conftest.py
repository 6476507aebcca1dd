# SPDX-License-Identifier: Apache-2.0
"""What the tests of bundles share."""

from __future__ import annotations

from tests.component.support.scene import room

__all__ = ["room"]
