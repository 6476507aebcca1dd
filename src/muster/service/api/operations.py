# SPDX-License-Identifier: Apache-2.0
"""All operations: who imports this has them answered."""

from __future__ import annotations

from muster.service.api import (  # noqa: F401 - each says which operations it answers
    add_ons,
    agents,
    catalogue,
    checking,
    clusters,
    farewell,
    files,
    hosts,
    house,
    infra_envs,
    installing,
    logs,
    manifests,
    media_files,
    own,
    watching,
)
from muster.service.api.call import OPERATIONS
from muster.service.api.table import ROUTES


def load_operations() -> None:
    """See that nothing of the table is without an answer."""
    missing = [route.operation_id for route in ROUTES if route.operation_id not in OPERATIONS]
    assert not missing, f"nobody answers {', '.join(missing)}"
