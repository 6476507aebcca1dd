# SPDX-License-Identifier: Apache-2.0
"""The steps of the wizard: each is ready, or blocked by validations of the cluster or of hosts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias, get_args

from muster.model.wire.struct import Wire
from muster.service.state import Cluster, Host, Verdict
from muster.service.states.words import name_of
from muster.service.validations import fitness

StepId: TypeAlias = Literal[
    "cluster-details",
    "operators",
    "host-discovery",
    "storage",
    "networking",
    "custom-manifests",
    "review",
]
STEPS: Final[tuple[StepId, ...]] = get_args(StepId)
_PLACES: Final[Mapping[StepId, frozenset[str]]] = {
    "cluster-details": frozenset(
        {"dns-domain-defined", "pull-secret-set", "platform-requirements-satisfied"}
    ),
    "storage": frozenset(
        {
            "sufficient-installation-disk-speed",
            "no-skip-installation-disk",
            "no-skip-missing-disk",
            "vsphere-disk-uuid-enabled",
            "disk-encryption-requirements-satisfied",
            "has-min-valid-disks",
            "matches-site-files",
        }
    ),
    "networking": frozenset(
        {
            "machine-cidr-defined",
            "cluster-cidr-defined",
            "service-cidr-defined",
            "no-cidrs-overlapping",
            "networks-same-address-families",
            "network-prefix-valid",
            "machine-cidr-equals-to-calculated-cidr",
            "api-vips-defined",
            "api-vips-valid",
            "ingress-vips-defined",
            "ingress-vips-valid",
            "network-type-valid",
            "ntp-server-configured",
            "rendezvous-ip-unique",
            "belongs-to-machine-cidr",
            "ignition-downloadable",
            "belongs-to-majority-group",
            "mtu-valid",
            "valid-platform-network-settings",
            "ntp-synced",
            "time-synced-between-host-and-service",
            "container-images-available",
            "sufficient-network-latency-requirement-for-role",
            "sufficient-packet-loss-requirement-for-role",
            "has-default-route",
            "api-domain-name-resolved-correctly",
            "api-int-domain-name-resolved-correctly",
            "apps-domain-name-resolved-correctly",
            "release-domain-name-resolved-correctly",
            "dns-wildcard-not-configured",
            "non-overlapping-subnets",
            "no-ip-collisions-in-network",
            "no-iscsi-nic-belongs-to-machine-cidr",
        }
    ),
    "custom-manifests": frozenset({"custom-manifests-requirements-satisfied"}),
}


class Block(Wire, frozen=True, kw_only=True):
    """One validation that stands in the way, of the cluster or of the hosts that are named."""

    validation_id: str
    message: str
    status: Literal["failure", "pending", "error"]
    host_ids: tuple[str, ...] = ()
    host_names: tuple[str, ...] = ()


class WizardStep(Wire, frozen=True, kw_only=True):
    """A step, and whether one can go on from it."""

    id: StepId
    ready: bool
    blocked_by: tuple[Block, ...] = ()
    after: tuple[StepId, ...] = ()
    """Earlier steps that are not ready."""


def step_of(validation_id: str) -> StepId:
    """The step at which something can be done about a validation."""
    for step, ids in _PLACES.items():
        if validation_id in ids:
            return step
    return "operators" if validation_id.endswith("-requirements-satisfied") else "host-discovery"


def wizard_steps(cluster: Cluster, hosts: Mapping[str, Host]) -> tuple[WizardStep, ...]:
    """Every step, in order. The last one is ready when all others are and the cluster can be installed."""
    blocks = _blocks(cluster, hosts.values())
    steps: list[WizardStep] = []
    for step in STEPS[:-1]:
        found = tuple(block for block in blocks if step_of(block.validation_id) == step)
        steps.append(_step(step, found, steps))
    last = _step("review", (), steps)
    ready = last.ready and not last.after and cluster.status not in ("insufficient", "pending-for-input")
    return (*steps, WizardStep(id="review", ready=ready, after=last.after))


def _step(id: StepId, blocked_by: tuple[Block, ...], earlier: Iterable[WizardStep]) -> WizardStep:
    after = tuple(step.id for step in earlier if not step.ready)
    return WizardStep(id=id, ready=not blocked_by, blocked_by=blocked_by, after=after)


def _blocks(cluster: Cluster, hosts: Iterable[Host]) -> list[Block]:
    ids = fitness.cluster_members("required_input") | fitness.cluster_members("sufficient")
    found = fitness.blocking(ids, cluster.verdicts, cluster.ignored_cluster_validations, "cluster")
    blocks = [_block(verdict, ()) for verdict in found]
    blocked: dict[str, tuple[Verdict, list[Host]]] = {}
    asked = (
        fitness.members("min_hardware") | fitness.members("required_input") | fitness.members("sufficient")
    )
    for host in hosts:
        for verdict in fitness.blocking(asked, host.verdicts, cluster.ignored_host_validations):
            blocked.setdefault(verdict.id, (verdict, []))[1].append(host)
    return blocks + [_block(verdict, of) for verdict, of in blocked.values()]


def _block(verdict: Verdict, hosts: Iterable[Host]) -> Block:
    of = tuple(hosts)
    status = verdict.status if verdict.status in ("failure", "error") else "pending"
    return Block(
        validation_id=verdict.id,
        message=verdict.message or verdict.id,
        status=status,
        host_ids=tuple(host.id for host in of),
        host_names=tuple(name_of(host) for host in of),
    )
