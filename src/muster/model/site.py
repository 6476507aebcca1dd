# SPDX-License-Identifier: Apache-2.0
"""A site as its user described it: all files of one directory, read and still unjudged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import date

from muster.frozen import dataclass
from muster.model.add_ons import AddOnsConfig
from muster.model.agent_config import AgentConfig
from muster.model.host import Host
from muster.model.image_based import ImageBasedConfig, ImageBasedInstallationConfig
from muster.model.install_config import InstallConfig
from muster.model.lab import LabConfig
from muster.model.manifests import (
    AgentClusterInstall,
    ClusterDeployment,
    ClusterImageSet,
    InfraEnv,
    NMStateConfig,
    PullSecret,
)
from muster.model.manifests.agent_cluster_install import AgentClusterInstallSpec
from muster.model.manifests.infra_env import InfraEnvSpec
from muster.model.nmstate import NMState
from muster.model.nodes_config import NodesConfig
from muster.model.registries import RegistriesConf
from muster.model.tree import Node, Source


@dataclass(frozen=True)
class Environment:
    """What the environment variables of the installer say."""

    release_image: str = ""
    """OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE"""
    invoker: str = ""
    """OPENSHIFT_INSTALL_INVOKER: unknown fields of install-config.yaml only warn."""
    release_kind: str = ""
    """The kind of the release that a flag names, which wins over the site's files; empty without one."""
    has_base_image: bool = False
    """A flag names a base image: where no release is named, hosts get the one of the plan."""
    today: date | None = None
    """The date that certificates are judged by; they are not when it is None."""

    @classmethod
    def of(cls, variables: Mapping[str, str]) -> Environment:
        """Pick out what concerns us."""
        return cls(
            release_image=variables.get("OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE", "").strip(),
            invoker=variables.get("OPENSHIFT_INSTALL_INVOKER", "").strip(),
        )


@dataclass(frozen=True)
class Manifests:
    """cluster-manifests/: the same cluster as install-config.yaml describes, as Kubernetes objects."""

    pull_secret: PullSecret | None = None
    infra_env: InfraEnv | None = None
    nmstate_configs: tuple[NMStateConfig, ...] = ()
    agent_cluster_install: AgentClusterInstall | None = None
    cluster_deployment: ClusterDeployment | None = None
    cluster_image_set: ClusterImageSet | None = None
    missing: tuple[str, ...] = ()
    """Files that are not there although others are."""


@dataclass(frozen=True)
class ExtraManifest:
    """A file of openshift/, handed to the cluster as it is."""

    source: Source
    documents: tuple[Node, ...]


@dataclass(frozen=True)
class SiteHost:
    """A machine of the site, wherever it was described, with its static network if it has one."""

    index: int
    host: Host
    network: NMState | None = None
    keyfiles: tuple[tuple[str, str], ...] = ()
    """What nmstate made of the network: NetworkManager profiles, by file name."""

    @property
    def label(self) -> str:
        """How messages call the host."""
        return self.host.hostname or f"host {self.index + 1}"


@dataclass(frozen=True)
class Site:
    """All files of one directory."""

    environment: Environment = field(default_factory=Environment)
    install: InstallConfig | None = None
    """install-config.yaml, or what the manifests say in its place."""
    agent: AgentConfig | None = None
    manifests: Manifests | None = None
    hosts: tuple[SiteHost, ...] = ()
    registries: RegistriesConf | None = None
    registries_source: Source | None = None
    ca_bundle: Source | None = None
    extra_manifests: tuple[ExtraManifest, ...] = ()
    image_based_installation: ImageBasedInstallationConfig | None = None
    image_based: ImageBasedConfig | None = None
    nodes: NodesConfig | None = None
    add_ons: AddOnsConfig | None = None
    lab: LabConfig | None = None
    unread: tuple[str, ...] = ()
    """Files that are there but could not be read, so that what they say is not known."""
    sources: tuple[Source, ...] = ()
    """Every file that was read, in the order of reading."""

    @property
    def is_lifted(self) -> bool:
        """Whether the manifests describe the cluster, and not install-config.yaml."""
        found = self.manifests.agent_cluster_install if self.manifests else None
        return found is not None and self.install is not None and self.install.node is found.node

    @property
    def infra_env_spec(self) -> InfraEnvSpec | None:
        """What cluster-manifests/infraenv.yaml says."""
        return self.manifests.infra_env.spec if self.manifests and self.manifests.infra_env else None

    @property
    def cluster_install_spec(self) -> AgentClusterInstallSpec | None:
        """What cluster-manifests/agent-cluster-install.yaml says."""
        found = self.manifests.agent_cluster_install if self.manifests else None
        return found.spec if found else None
