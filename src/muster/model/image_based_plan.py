# SPDX-License-Identifier: Apache-2.0
"""The resolved plans of an image-based install: how the seed is copied, and what a site makes of the copy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from muster.frozen import dataclass
from muster.model.pki import KeySpec
from muster.model.plan import Decision, ProxyPlan
from muster.model.registries import RegistriesConf
from muster.model.tree import Plain
from muster.model.values import Secret


@dataclass(frozen=True)
class MirrorSet:
    """A repository, the mirrors that are asked first, and what to do when they fail."""

    source: str
    mirrors: tuple[str, ...]
    policy: str = ""


@dataclass(frozen=True)
class ConfigurationPlan:
    """What turns the copy of a seed into the cluster of a site."""

    name: str
    base_domain: str
    hostname: str
    """Empty when DHCP or DNS has to name the node."""
    cluster_id: str
    """Empty when the secrets have it."""
    infra_id: str
    """Empty when it is made from the name and the secrets."""
    machine_networks: tuple[str, ...]
    network: Mapping[str, Plain] | None = field(repr=False)
    """The node's NMState document, if it has a static network."""
    ntp_sources: tuple[str, ...]
    release_registry: str
    node_labels: Mapping[str, str]
    pull_secret: Secret
    ssh_key: str
    proxy: ProxyPlan | None
    trust_bundle: str = field(repr=False)
    trusted_by_operators: bool
    """Whether the operators trust the bundle too, and not the node alone."""
    mirrors: tuple[MirrorSet, ...]
    signer_key: KeySpec
    extra_manifests: tuple[tuple[str, str], ...] = field(repr=False)
    """Manifests that are handed to the cluster as they are, by the name of their file."""
    decisions: tuple[Decision, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class InstallationPlan:
    """How a seed gets onto the disk of a machine."""

    seed_image: str
    seed_version: str
    installation_disk: str
    architecture: str
    extra_partition_label: str
    extra_partition_number: int
    extra_partition_start: str
    release_registry: str
    coreos_installer_args: tuple[str, ...]
    shutdown: bool
    skip_disk_cleanup: bool
    pull_secret: Secret
    ssh_keys: tuple[str, ...]
    network: Mapping[str, Plain] | None = field(repr=False)
    """The live system's NMState document, if it has a static network."""
    proxy: ProxyPlan | None
    trust_bundle: str = field(repr=False)
    registries: RegistriesConf
    ignition_override: str = field(repr=False)
    """An Ignition config of the user's, whose parts replace ours."""
    decisions: tuple[Decision, ...] = field(default=(), compare=False)
