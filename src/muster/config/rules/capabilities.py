# SPDX-License-Identifier: Apache-2.0
"""Optional parts of a cluster: those that others cannot do without are not left out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Final

from muster.config.derive import platform_name
from muster.model.capabilities import Capabilities, Capability, CapabilitySet
from muster.model.install_config import InstallConfig
from muster.model.platform.external import CloudControllerManager
from muster.model.problem import Place, Problem, problem
from muster.model.site import Site
from muster.model.tree import Node, is_null

_ADDED: Final[tuple[tuple[CapabilitySet, tuple[Capability, ...]], ...]] = (
    (CapabilitySet.NONE, ()),
    (
        CapabilitySet.V4_11,
        (
            Capability.BAREMETAL,
            Capability.MARKETPLACE,
            Capability.OPENSHIFT_SAMPLES,
            Capability.MACHINE_API,
        ),
    ),
    (
        CapabilitySet.V4_12,
        (Capability.CONSOLE, Capability.INSIGHTS, Capability.STORAGE, Capability.CSI_SNAPSHOT),
    ),
    (CapabilitySet.V4_13, (Capability.NODE_TUNING,)),
    (CapabilitySet.V4_14, (Capability.BUILD, Capability.DEPLOYMENT_CONFIG, Capability.IMAGE_REGISTRY)),
    (CapabilitySet.V4_15, (Capability.OPERATOR_LIFECYCLE_MANAGER, Capability.CLOUD_CREDENTIAL)),
    (CapabilitySet.V4_16, (Capability.INGRESS, Capability.CLOUD_CONTROLLER_MANAGER)),
    (CapabilitySet.V4_17, ()),
    (CapabilitySet.V4_18, (Capability.OPERATOR_LIFECYCLE_MANAGER_V1,)),
    (CapabilitySet.CURRENT, (Capability.COMPATIBILITY_REQUIREMENTS, Capability.CLUSTER_API)),
)
"""What each set has beyond the one before it."""
SETS: Final = dict(
    zip(
        (name for name, _ in _ADDED),
        accumulate((frozenset(more) for _, more in _ADDED), frozenset[Capability].union),
        strict=True,
    )
)


def check_capability_set(site: Site) -> Iterator[Problem]:
    """Who chooses capabilities says which set they are added to."""
    chosen = site.install.capabilities if site.install else None
    if chosen is not None and is_null(chosen.places.get("baseline_capability_set")):
        yield problem("missing-capability-set", Place.of_key(chosen.node))


def check_needed_capabilities(site: Site) -> Iterator[Problem]:
    """Capabilities that the platform or another capability needs are there."""
    install = site.install
    chosen = install.capabilities if install else None
    if install is None or chosen is None or chosen.baseline_capability_set is None:
        return
    more = chosen.additional_enabled_capabilities
    written = chosen.places.get("additional_enabled_capabilities")
    if chosen.is_unread("additional_enabled_capabilities"):
        return
    enabled = SETS[chosen.baseline_capability_set] | set(more)
    for capability, reason in _needed(install, enabled):
        if capability not in enabled:
            yield problem("needed-capability", _place(chosen, written), name=capability, reason=reason)


def _needed(install: InstallConfig, enabled: frozenset[Capability]) -> Iterator[tuple[Capability, str]]:
    """Each capability that cannot be left out, and who needs it."""
    platform = platform_name(install)
    yield Capability.INGRESS, "applications and the console are reached through it"
    if Capability.MARKETPLACE in enabled:
        yield Capability.OPERATOR_LIFECYCLE_MANAGER, "marketplace installs operators with it"
    if platform == "baremetal":
        yield Capability.BAREMETAL, "platform baremetal is run by it"
    if platform in ("vsphere", "nutanix", "external"):
        yield (
            Capability.CLOUD_CREDENTIAL,
            f"only platforms none and baremetal can do without it, not {platform}",
        )
    external = install.platform.external if install.platform else None
    provider = external is not None and external.cloud_controller_manager is CloudControllerManager.EXTERNAL
    if platform in ("vsphere", "nutanix") or (platform == "external" and provider):
        yield Capability.CLOUD_CONTROLLER_MANAGER, f"the provider of platform {platform} works through it"


def _place(chosen: Capabilities, written: Node | None) -> Node | Place:
    if written is None or is_null(written):
        return chosen.at("baseline_capability_set")
    return Place.of_key(written)


RULES: Final = (check_capability_set, check_needed_capabilities)
