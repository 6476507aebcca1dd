# SPDX-License-Identifier: Apache-2.0
"""The resolved plan: what will be installed. The same object is shown, and made into manifests and media.

How it was described (files, places, reasons) does not count when plans are compared: the same cluster
described in another way is the same plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from muster.frozen import dataclass
from muster.model.host import BMC, Role, RootDeviceHints
from muster.model.registries import RegistriesConf
from muster.model.tree import Plain
from muster.model.values import IP, Network, Secret


class Topology(StrEnum):
    """The shape of a cluster."""

    SINGLE_NODE = "single node"
    COMPACT = "compact"
    HIGHLY_AVAILABLE = "highly available"
    ARBITER = "two nodes with arbiter"
    FENCING = "two nodes with fencing"


@dataclass(frozen=True)
class Decision:
    """A value that no file gives, and why it is what it is."""

    field: str
    value: str
    reason: str


@dataclass(frozen=True)
class PodNetwork:
    """A network for pods, and the length of the part that each host gets."""

    cidr: Network
    host_prefix: int


@dataclass(frozen=True)
class Networks:
    """The networks of the cluster."""

    type: str
    machine: tuple[Network, ...]
    cluster: tuple[PodNetwork, ...]
    service: tuple[Network, ...]


@dataclass(frozen=True)
class Card:
    """A network card: the name that the network configuration uses, and its address."""

    name: str
    mac_address: str


@dataclass(frozen=True)
class HostPlan:
    """One machine."""

    hostname: str
    """Empty when DHCP or DNS has to name it."""
    role: Role
    cards: tuple[Card, ...]
    addresses: tuple[str, ...]
    """Static addresses with their prefix lengths."""
    disk: RootDeviceHints | None
    network: Mapping[str, Plain] | None = field(repr=False)
    """Its NMState document, if it has a static network."""
    keyfiles: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """What nmstate makes of that: NetworkManager profiles by file name."""
    bmc: BMC | None = None
    in_install_config: Mapping[str, Plain] | None = field(default=None, repr=False)
    """Its further fields in install-config.yaml; None when that does not name it."""
    role_reason: str = field(default="", compare=False)

    @property
    def label(self) -> str:
        """How people call it."""
        return self.hostname or (self.cards[0].mac_address if self.cards else "unnamed host")


@dataclass(frozen=True)
class RendezvousPlan:
    """Where the hosts meet."""

    ip: IP
    host: str
    """Label of the host; empty when only the host itself can know (DHCP)."""
    reason: str = field(default="", compare=False)


@dataclass(frozen=True)
class ProxyPlan:
    """How hosts reach the outside."""

    http: str = field(default="", repr=False)
    https: str = field(default="", repr=False)
    no_proxy: str = ""


@dataclass(frozen=True)
class Plan:
    """What will be installed."""

    name: str
    base_domain: str
    namespace: str
    platform: str
    topology: Topology
    architecture: str
    release_image: str
    masters: int
    arbiters: int
    workers: int
    networks: Networks
    api_vips: tuple[IP, ...]
    ingress_vips: tuple[IP, ...]
    user_managed_networking: bool
    hosts: tuple[HostPlan, ...]
    rendezvous: RendezvousPlan | None
    pull_secret: Secret
    ssh_key: str
    proxy: ProxyPlan | None
    ntp_sources: tuple[str, ...]
    registries: RegistriesConf
    trust_bundle: str = field(repr=False)
    minimal_iso: bool
    boot_artifacts_base_url: str
    settings: Mapping[str, Plain] = field(repr=False)
    """Further fields of install-config.yaml, handed to the cluster as they are. May hold secrets."""
    manifest_settings: Mapping[str, Plain] = field(repr=False)
    """Further fields of AgentClusterInstall and InfraEnv, by kind, that only manifests have."""
    extra_manifests: tuple[tuple[str, str], ...] = field(repr=False)
    """Manifests that are handed to the cluster as they are, by the name of their file."""
    release_key: str = ""
    """The public key (PEM) whose owner must have signed the release; empty when no signature is required."""
    release_kind: str = ""
    """What kind of release it is, where it was looked at: it decides which keys the medium needs."""
    add_ons: tuple[str, ...] = ()
    """Those of the release that the cluster gets, by id."""
    decisions: tuple[Decision, ...] = field(default=(), compare=False)

    @property
    def domain(self) -> str:
        """Domain of all names of the cluster."""
        return f"{self.name}.{self.base_domain}"
