# SPDX-License-Identifier: Apache-2.0
"""The Ignition config of an agent-based installation: what every host of a site boots with."""

from __future__ import annotations

from typing import Any, Final

from muster.image.credentials import Credentials
from muster.image.ignition.access import access
from muster.image.ignition.clock import clock
from muster.image.ignition.cluster import cluster
from muster.image.ignition.hosts import hosts
from muster.image.ignition.images import images
from muster.image.ignition.label import label
from muster.image.ignition.merge import merge_given
from muster.image.ignition.names import names
from muster.image.ignition.network import network
from muster.image.ignition.proxy import proxy
from muster.image.ignition.rendezvous import rendezvous
from muster.model.ignition import Config, join, tree_of
from muster.model.plan import Plan

CONCERNS: Final = (access, clock, cluster, hosts, images, label, names, network, proxy, rendezvous)


def agent_config(plan: Plan, credentials: Credentials) -> Config:
    """All concerns together."""
    return join(concern(plan, credentials) for concern in CONCERNS)


def agent_tree(
    plan: Plan, credentials: Credentials, override: str = ""
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The config with what the user adds, and the places where that replaced something of ours."""
    infra_env = plan.manifest_settings.get("InfraEnv")
    written = infra_env.get("ignitionConfigOverride") if isinstance(infra_env, dict) else None
    return merge_given(tree_of(agent_config(plan, credentials)), written, override)
