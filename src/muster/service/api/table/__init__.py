# SPDX-License-Identifier: Apache-2.0
"""Every operation of the service, and who may call it: what docs, OpenAPI document and guard are made of."""

from __future__ import annotations

from typing import Final

from muster.service.api.table.browser import BROWSER
from muster.service.api.table.catalogue import CATALOGUE
from muster.service.api.table.cluster_files import CLUSTER_FILES
from muster.service.api.table.clusters import CLUSTERS
from muster.service.api.table.hosts import HOSTS
from muster.service.api.table.infra_envs import INFRA_ENVS
from muster.service.api.table.ours import OURS
from muster.service.api.table.route import Route

ROUTES: Final[tuple[Route, ...]] = (
    *CLUSTERS,
    *CLUSTER_FILES,
    *INFRA_ENVS,
    *HOSTS,
    *CATALOGUE,
    *OURS,
    *BROWSER,
)
