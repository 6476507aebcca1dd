# SPDX-License-Identifier: Apache-2.0
"""What is known of an operator: who it is for, what it needs, how it is installed, and when it is ready."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from muster.frozen import dataclass


@dataclass(frozen=True)
class Choice:
    """The cluster that operators are chosen for, as far as they depend on it."""

    version: tuple[int, int]
    """Of OpenShift: major and minor."""
    operators: frozenset[str] = frozenset()
    """The ids of all that are installed."""
    masters: int = 3
    workers: int = 0
    spare_disks: int = 0
    """Of all hosts that run workloads together, besides those that the system is on."""

    @property
    def is_single_node(self) -> bool:
        return self.masters + self.workers == 1

    @property
    def is_compact(self) -> bool:
        """Whether the control plane runs the workloads, too."""
        return self.workers == 0


@dataclass(frozen=True)
class Condition:
    """When something is so; what is not said does not matter."""

    single_node: bool | None = None
    compact: bool | None = None
    from_version: tuple[int, int] | None = None
    below_version: tuple[int, int] | None = None
    with_operators: frozenset[str] = frozenset()
    """All of them are installed."""
    without_operators: frozenset[str] = frozenset()
    """None of them is."""

    def holds(self, choice: Choice) -> bool:
        return (
            self.single_node in (None, choice.is_single_node)
            and self.compact in (None, choice.is_compact)
            and (self.from_version is None or choice.version >= self.from_version)
            and (self.below_version is None or choice.version < self.below_version)
            and self.with_operators <= choice.operators
            and not self.without_operators & choice.operators
        )


@dataclass(frozen=True)
class Dependency:
    """An operator that has to be there, too."""

    id: str
    when: Condition = field(default_factory=Condition)


@dataclass(frozen=True)
class Membership:
    """That an operator belongs to a bundle."""

    id: str
    is_optional: bool = False
    when: Condition = field(default_factory=Condition)


@dataclass(frozen=True)
class Bundle:
    """Operators that are chosen together."""

    id: str
    name: str
    description: str


@dataclass(frozen=True)
class HostNeeds:
    """What an operator takes of one host, besides what all others take."""

    cpus: int = 0
    memory_mib: int = 0
    is_total: bool = False
    """Whether the host has to have that altogether, instead of that much more."""
    spare_disks: int = 0
    spare_disk_gb: int = 0
    cpus_per_spare_disk: int = 0
    memory_mib_per_spare_disk: int = 0
    virtualization: bool = False


@dataclass(frozen=True)
class ClusterNeeds:
    """What an operator wants of the cluster as a whole."""

    hosts: int = 0
    workers: int = 0
    """Where there are any: a cluster without workers runs everything on its control plane."""
    spare_disks: int = 0
    single_node: bool = True
    """Whether it works on a single node."""
    gpu_vendors: tuple[str, ...] = ()
    """PCI vendor ids; a host with a GPU of one of them is needed."""


@dataclass(frozen=True)
class Requirements:
    """What an operator needs, by the part that a host plays."""

    hosts: Mapping[str, HostNeeds] = field(default_factory=dict)
    """``host`` (any), ``master``, ``worker``, ``compact_host``, ``single_host``; the closest one counts."""
    cluster: ClusterNeeds = field(default_factory=ClusterNeeds)

    def of(self, role: str, choice: Choice) -> HostNeeds:
        """What a host takes that has a role in a cluster."""
        closest = ["single_host"] if choice.is_single_node else ["compact_host"] if choice.is_compact else []
        for name in (*closest, role, "host"):
            if name in self.hosts:
                return self.hosts[name]
        return HostNeeds()


@dataclass(frozen=True)
class Namespace:
    """Where an operator lives."""

    name: str
    is_monitored: bool = False
    """Whether the cluster's monitoring looks at it."""
    is_there: bool = False
    """Whether every cluster has it, with an operator group for all namespaces."""


@dataclass(frozen=True)
class Group:
    """Which namespaces an operator looks after; all when none is named."""

    name: str
    targets: tuple[str, ...] = ()


@dataclass(frozen=True)
class Subscription:
    """Which package the lifecycle manager installs, and follows."""

    name: str
    package: str
    channel: str = ""
    """The package's own default when it is empty."""
    source: str = "redhat-operators"
    """The catalogue that has it."""


@dataclass(frozen=True)
class Piece:
    """An object of the cluster, as YAML; ``$disks`` stands for the number of spare disks."""

    manifest: str
    file: str = ""
    """The name of its file; objects that are made after the installation have none."""
    when: Condition = field(default_factory=Condition)


@dataclass(frozen=True)
class Ready:
    """An object whose state tells that an operator has done its work."""

    kind: str
    api_version: str
    name: str
    namespace: str = ""
    condition: str = ""
    """The type of a condition that has to be True; or else:"""
    field: str = ""
    value: str = ""
    """What the field has to be."""


@dataclass(frozen=True)
class Operator:
    """One operator of the catalogue."""

    id: str
    name: str
    description: str
    namespace: Namespace
    subscription: Subscription
    timeout_minutes: int
    """How long it may take from the installation until it is ready."""
    group: Group | None = None
    aliases: tuple[str, ...] = ()
    bundles: tuple[Membership, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    conflicts: frozenset[str] = frozenset()
    min_version: tuple[int, int] | None = None
    requirements: Requirements = field(default_factory=Requirements)
    manifests: tuple[Piece, ...] = ()
    """Further objects that are there from the beginning."""
    post_install: tuple[Piece, ...] = ()
    """Objects that can be made only when the operator runs, and that put it to work."""
    ready: tuple[Ready, ...] = ()
    """Besides the operator itself, whose ClusterServiceVersion has to have succeeded."""
