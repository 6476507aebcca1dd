# SPDX-License-Identifier: Apache-2.0
"""A site for each test, and a web server for those that fetch."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.component.agent_steps.site import Site


@pytest.fixture
def site(root: None) -> Iterator[Site]:
    """A switch without hosts."""
    made = Site()
    yield made
    made.clear()
