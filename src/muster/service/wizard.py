# SPDX-License-Identifier: Apache-2.0
"""The steps of the wizard: each is ready, or blocked by validations of the cluster or of hosts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal, TypeAlias, get_args

from muster.model.wire.struct import Wire
from muster.service.credentials import PASSWORD as _PASSWORD
from muster.service.credentials import domain_of
from muster.service.state import Cluster, Host, Verdict
from muster.service.states.words import name_of
from muster.service.validations import fitness
from muster.service.validations.registry import CLUSTER, HOST, Of, texts

StepId: TypeAlias = Literal[
    "cluster-details",
    "operators",
    "host-discovery",
    "storage",
    "networking",
    "custom-manifests",
    "credentials",
    "review",
]
STEPS: Final[tuple[StepId, ...]] = get_args(StepId)
OwnId: TypeAlias = Literal["credentials-downloaded", "release-available", "cluster-judged"]
"""What stands in the way of people, although it is no validation."""
_FAILING: Final = ("failure", "error")
_ORDER: Final = ("failure", "error", "pending")
_PLACES: Final[Mapping[StepId, frozenset[str]]] = {
    "cluster-details": frozenset(
        {"dns-domain-defined", "pull-secret-set", "platform-requirements-satisfied", "release-fetched"}
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
    "review": frozenset({"all-hosts-are-ready-to-install"}),
}


_CREDENTIALS: Final = {
    "title": "The credentials are in your hands",
    "message": "kubeconfig and password of {domain} were not downloaded yet",
    "why": "The service removes itself when the cluster is complete, and they cannot be had afterwards.",
    "fix": "download both, or everything as one file",
}
_CHANGED: Final = "the kubeconfig that was downloaded is for {taken}, and the cluster is {domain} now"
_RELEASE: Final = {
    "title": "The release can be installed",
    "why": "Hosts are told what to install when the installation begins, and that is in the release.",
    "fix": "check the mirror registry of the site and the way to it, or make the medium again with a release",
}
_JUDGING: Final = {
    "title": "The cluster is judged",
    "message": "the service is still looking at what was changed last",
    "why": "An installation begins only with what was looked at.",
    "fix": "wait a moment",
}


class BlockedHost(Wire, frozen=True, kw_only=True):
    """A host that a validation complains about."""

    id: str
    name: str
    status: Literal["failure", "pending", "error"]
    message: str


class Block(Wire, frozen=True, kw_only=True):
    """Something that stands in the way, of the cluster or of the hosts that are named."""

    id: str
    """A validation, or one of credentials-downloaded, release-available, cluster-judged."""
    of: Literal["cluster", "host"]
    title: str
    message: str
    """Of several hosts, that of the first; each has its own."""
    status: Literal["failure", "pending", "error"]
    why: str = ""
    fix: str = ""
    hosts: tuple[BlockedHost, ...] = ()


class WizardStep(Wire, frozen=True, kw_only=True):
    """A step, and whether one can go on from it."""

    id: StepId
    ready: bool
    blocked_by: tuple[Block, ...] = ()
    warnings: tuple[Block, ...] = ()
    """What fails, but does not stop an installation."""
    after: tuple[StepId, ...] = ()
    """Earlier steps that are not ready."""


def step_of(validation_id: str) -> StepId:
    """The step at which something can be done about a validation."""
    for step, ids in _PLACES.items():
        if validation_id in ids:
            return step
    return "operators" if validation_id.endswith("-requirements-satisfied") else "host-discovery"


def wizard_steps(
    cluster: Cluster, hosts: Mapping[str, Host], release_trouble: str = ""
) -> tuple[WizardStep, ...]:
    """Every step, in order. The last one is ready when all others are and the cluster can be installed."""
    blocks, warnings = _blocks(cluster, hosts.values()), _warnings(cluster, hosts.values())
    own = {"credentials": _credentials(cluster), "cluster-details": _release(cluster, release_trouble)}
    steps: list[WizardStep] = []
    for step in STEPS[:-1]:
        found = tuple(block for block in blocks if step_of(block.id) == step) + own.get(step, ())
        advice = tuple(block for block in warnings if step_of(block.id) == step)
        steps.append(_step(step, found, advice, steps))
    of_review = tuple(block for block in blocks if step_of(block.id) == "review")
    return (*steps, _review(cluster, of_review, steps))


def _step(
    id: StepId, blocked_by: tuple[Block, ...], warnings: tuple[Block, ...], earlier: Iterable[WizardStep]
) -> WizardStep:
    after = tuple(step.id for step in earlier if not step.ready)
    return WizardStep(id=id, ready=not blocked_by, blocked_by=blocked_by, warnings=warnings, after=after)


def _review(cluster: Cluster, blocks: tuple[Block, ...], earlier: Iterable[WizardStep]) -> WizardStep:
    """Nobody has to wait here without a reason."""
    last = _step("review", blocks, (), earlier)
    unfit = cluster.status in ("insufficient", "pending-for-input")
    if unfit and last.ready and not last.after:
        return WizardStep(id="review", ready=False, blocked_by=(_own("cluster-judged", "pending", _JUDGING),))
    return WizardStep(
        id="review", ready=last.ready and not last.after, blocked_by=last.blocked_by, after=last.after
    )


def _credentials(cluster: Cluster) -> tuple[Block, ...]:
    """Whoever installs a cluster has to have what it is used with, before the service goes."""
    domain = domain_of(cluster)
    taken = cluster.access_taken
    if cluster.kubeconfig_given or cluster.kind != "Cluster" or {domain, _PASSWORD} <= set(taken):
        return ()
    words = {"domain": domain, "taken": ", ".join(each for each in taken if each != _PASSWORD)}
    message = _CHANGED if words["taken"] and domain not in taken else _CREDENTIALS["message"]
    text = {**_CREDENTIALS, "message": message.format_map(words)}
    return (_own("credentials-downloaded", "failure", text),)


def _release(cluster: Cluster, trouble: str) -> tuple[Block, ...]:
    """What is to be installed has to be there."""
    if not trouble or cluster.status not in ("insufficient", "pending-for-input", "ready"):
        return ()
    return (_own("release-available", "failure", {**_RELEASE, "message": trouble}),)


def _own(id: OwnId, status: Literal["failure", "pending"], text: Mapping[str, str]) -> Block:
    """What is no validation, but stands in the way of people."""
    return Block(
        id=id,
        of="cluster",
        title=text["title"],
        message=text["message"],
        status=status,
        why=text["why"],
        fix=text["fix"],
    )


def reasons() -> frozenset[tuple[Of, str]]:
    """All that can ever stand in the way of a step: whether it is of the cluster or of hosts, and its id."""
    own = frozenset[str](get_args(OwnId))
    return frozenset(
        {
            *(("cluster", id) for id in _asked_of_cluster() | own),
            *(("host", id) for id in _asked_of_hosts()),
        }
    )


def _asked_of_cluster() -> frozenset[str]:
    return fitness.cluster_members("required_input") | fitness.cluster_members("sufficient")


def _asked_of_hosts() -> frozenset[str]:
    groups: tuple[fitness.HostGroup, ...] = ("min_hardware", "required_input", "sufficient")
    return frozenset().union(*(fitness.members(group) for group in groups))


def _blocks(cluster: Cluster, hosts: Iterable[Host]) -> list[Block]:
    found = fitness.blocking(
        _asked_of_cluster(), cluster.verdicts, cluster.ignored_cluster_validations, "cluster"
    )
    asked = _asked_of_hosts()
    of_hosts = (
        (host, fitness.blocking(asked, host.verdicts, cluster.ignored_host_validations)) for host in hosts
    )
    return [*(_block("cluster", verdict) for verdict in found), *_grouped(of_hosts)]


def _warnings(cluster: Cluster, hosts: Iterable[Host]) -> list[Block]:
    """What fails of that which is only advice."""
    found = [each for each in cluster.verdicts if CLUSTER[each.id].advisory and each.status in _FAILING]
    of_hosts = (
        (host, [each for each in host.verdicts if HOST[each.id].advisory and each.status in _FAILING])
        for host in hosts
    )
    return [*(_block("cluster", verdict) for verdict in found), *_grouped(of_hosts)]


def _grouped(found: Iterable[tuple[Host, Iterable[Verdict]]]) -> Iterator[Block]:
    """The same of several hosts is told once."""
    blocked: dict[str, list[tuple[Host, Verdict]]] = {}
    for host, verdicts in found:
        for verdict in verdicts:
            blocked.setdefault(verdict.id, []).append((host, verdict))
    for each in blocked.values():
        yield _block("host", each[0][1], tuple(_blocked(host, verdict) for host, verdict in each))


def _blocked(host: Host, verdict: Verdict) -> BlockedHost:
    message = verdict.message or verdict.id
    return BlockedHost(id=host.id, name=name_of(host), status=_status(verdict), message=message)


def _block(of: Of, verdict: Verdict, hosts: tuple[BlockedHost, ...] = ()) -> Block:
    entry = texts()[of].get(verdict.id, {})
    worst = min((host.status for host in hosts), key=_ORDER.index, default=_status(verdict))
    return Block(
        id=verdict.id,
        of=of,
        title=str(entry.get("title", verdict.id)),
        message=verdict.message or verdict.id,
        status=worst,
        why=str(entry.get("why", "")),
        fix=str(entry.get("fix", "")),
        hosts=hosts,
    )


def _status(verdict: Verdict) -> Literal["failure", "pending", "error"]:
    return "failure" if verdict.status == "failure" else "error" if verdict.status == "error" else "pending"
