# SPDX-License-Identifier: Apache-2.0
"""What the service knows: clusters, infra-envs and hosts, as frozen data under the interface's own names.

A *realm* is what is decided about as a whole: a cluster with the hosts that are bound to it, or an infra-env
with the hosts that wait in its pool.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from muster.model.wire.cluster import (
    ApiVip,
    ClusterNetwork,
    ClusterProgressInfo,
    DiskEncryption,
    IgnitionEndpoint,
    IngressVip,
    LastInstallationPreparation,
    LoadBalancer,
    MachineNetwork,
    Platform,
    ServiceNetwork,
)
from muster.model.wire.host import HostProgressInfo
from muster.model.wire.infra_env import HostStaticNetworkConfig, KernelArgument, Proxy
from muster.model.wire.inventory import Inventory
from muster.model.wire.operators import MonitoredOperator
from muster.model.wire.reports import (
    ApiVipConnectivityResponse,
    ContainerImageAvailability,
    DiskSpeed,
    DomainResolution,
    FreeNetworkAddresses,
    NtpSource,
    TangConnectivityResponse,
    VerifiedVip,
)

Kind: TypeAlias = Literal["cluster", "host", "infra-env"]
VerdictStatus: TypeAlias = Literal["success", "failure", "pending", "error", "disabled", "suppressed"]


class State(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A piece of what is known; it is replaced, never changed."""


class Verdict(State, frozen=True, kw_only=True):
    """What one validation says. A message is whole: it names what was seen, where and what is wrong."""

    id: str
    status: VerdictStatus
    message: str = ""


class Waiting(State, frozen=True, kw_only=True):
    """What something waits for: since when, until when, and what to do about it."""

    kind: str
    since: datetime
    until: datetime | None = None
    reason: str = ""
    action: str = ""


class Peer(State, frozen=True, kw_only=True):
    """What is wrong between a host and another one."""

    silent: tuple[str, ...] = ()
    """Addresses that did not answer, and from where they were asked."""
    small_packets: tuple[str, ...] = ()
    """Addresses that large packets do not reach."""
    doubled: tuple[str, ...] = ()
    """Addresses that several MACs answered for: the address and the MACs, with spaces in between."""
    rtt_ms: int = 0
    """The slowest answer, when it is slow."""
    loss_percent: int = 0


class EnrolmentRequest(State, frozen=True, kw_only=True):
    """A host that is being installed wants to register with another key: a person has to approve that."""

    key: str
    """The public key that it has now."""
    address: str
    """Where it called from."""
    requested_at: datetime
    """When it asked first."""
    repeated_at: datetime
    """When it asked last, to a minute."""
    differs: tuple[str, ...] = ()
    """What is not as it was, in words."""


class EnrolmentApproval(State, frozen=True, kw_only=True):
    """A person approved a key of a host; it is good for some minutes."""

    key: str
    """The fingerprint of the key."""
    given_at: datetime
    while_running: bool = False
    """The host was running with another key: its reports do not withdraw the approval."""


class Host(State, frozen=True, kw_only=True):
    """A machine that booted our medium."""

    id: str
    infra_env_id: str
    number: int = 0
    """Its place among the hosts of its realm; a number is never given twice."""
    cluster_id: str | None = None
    kind: Literal["Host", "AddToExistingClusterHost"] = "Host"
    status: str
    status_info: str = ""
    status_updated_at: datetime
    created_at: datetime
    registered_at: datetime
    updated_at: datetime
    discovery_agent_version: str = ""
    user_name: str = ""
    public_key: str = ""
    """The key pair that it is bound to; empty: it has none, and uses the token of its medium."""
    enrolment_request: EnrolmentRequest | None = None
    enrolment_approval: EnrolmentApproval | None = None
    enrolled: bool = False
    """It has called with a token of its own."""
    enrolment: int = 0
    """How often it was bound to a key; own tokens from before are worthless."""
    # What it is told to be.
    role: str = "auto-assign"
    suggested_role: str = "auto-assign"
    role_reason: str = ""
    bootstrap: bool = False
    requested_hostname: str = ""
    hostname_reason: str = ""
    machine_config_pool_name: str = ""
    installation_disk_id: str = ""
    installation_disk_path: str = ""
    disk_reason: str = ""
    disks_to_be_formatted: tuple[str, ...] = ()
    skip_formatting_disks: tuple[str, ...] = ()
    installer_args: str = ""
    ignition_config_overrides: str = ""
    ignition_endpoint_token: str = ""
    """Sealed."""
    ignition_endpoint_http_headers: str = ""
    node_labels: str = ""
    fencing_credentials: str = ""
    """Sealed."""
    site_fault: str | None = None
    """Why it cannot be what the files of its site say; empty when it is, None when they say nothing of it."""
    # What it told.
    inventory: Inventory | None = None
    asked: str = ""
    """Which peers it checked: a set of their numbers, as hexadecimal bits."""
    reached: dict[str, str] = msgspec.field(default_factory=dict)
    """By network and by family of addresses: which peers answered."""
    peers: dict[str, Peer] = msgspec.field(default_factory=dict)
    """The peers with which something is wrong, by id."""
    reports: dict[str, str] = msgspec.field(default_factory=dict)
    """Its files with what it reported, word for word: about which peers each is the last word."""
    ntp_sources: tuple[NtpSource, ...] | None = None
    clock_offset_s: int | None = None
    """How far its clock is ahead of ours, rounded."""
    free_addresses: tuple[FreeNetworkAddresses, ...] | None = None
    verified_vips: tuple[VerifiedVip, ...] | None = None
    resolutions: tuple[DomainResolution, ...] | None = None
    disk_speeds: dict[str, DiskSpeed] = msgspec.field(default_factory=dict)
    images: tuple[ContainerImageAvailability, ...] = ()
    api_vip_connectivity: ApiVipConnectivityResponse | None = None
    tang_connectivity: TangConnectivityResponse | None = None
    media_status: Literal["connected", "disconnected"] = "connected"
    silent: bool = False
    """It has not asked for instructions for too long."""
    # What follows from it.
    networks: tuple[str, ...] = ()
    """Subnets of its interfaces."""
    groups: tuple[str, ...] = ()
    """Networks and families in whose largest full mesh it is."""
    twins: tuple[str, ...] = ()
    """Other hosts of its name."""
    collisions: tuple[str, ...] = ()
    """Addresses of its own that answer from several MACs: address and MACs, with spaces in between."""
    verdicts: tuple[Verdict, ...] = ()
    # How far it is.
    progress: HostProgressInfo = HostProgressInfo(current_stage=None)
    install_step: str = ""
    """The step that told it to install; there is one."""
    restarts: int = 0
    """How often it booted the medium again before its disk was complete, and was installed anew."""
    disk_unsure: bool = False
    """It booted again: disks may have other names, and nothing is written before it told them anew."""
    connection_timed_out: bool = False
    logs_info: str = ""
    logs_started_at: datetime | None = None
    logs_collected_at: datetime | None = None
    waiting: Waiting | None = None

    @property
    def realm(self) -> str:
        """Whose decisions concern it: its cluster's, or those of the pool that it waits in."""
        return self.cluster_id or self.infra_env_id


class AddOn(State, frozen=True, kw_only=True):
    """Something that a cluster gets besides, and what it takes of each host that it may run on."""

    id: str
    cpu_millicores: int = 0
    ram_mib: int = 0
    disk_mib: int = 0


class ReleaseSight(State, frozen=True, kw_only=True):
    """What a service knows of the release of its site; neither here nor with trouble, it is being fetched."""

    is_here: bool = False
    trouble: str = ""


class Cluster(State, frozen=True, kw_only=True):
    """A cluster that is, or is to be."""

    id: str
    kind: Literal["Cluster", "AddHostsCluster", "DisconnectedCluster"] = "Cluster"
    name: str
    status: str
    status_info: str = ""
    status_updated_at: datetime
    created_at: datetime
    updated_at: datetime
    openshift_version: str = ""
    ocp_release_image: str = ""
    openshift_cluster_id: str = ""
    base_dns_domain: str = ""
    cpu_architecture: str = "x86_64"
    tags: str = ""
    user_name: str = ""
    org_id: str = ""
    email_domain: str = ""
    imported: bool = False
    api_vip_dns_name: str = ""
    hosts_seen: int = 0
    """How many numbers were given to hosts."""
    # Its shape.
    control_plane_count: int = 3
    schedulable_masters: bool = False
    schedulable_masters_forced_true: bool = True
    platform: Platform = Platform(type="baremetal")
    load_balancer: LoadBalancer | None = None
    user_managed_networking: bool = False
    hyperthreading: str = "all"
    # Its networks.
    network_type: str = "OVNKubernetes"
    cluster_networks: tuple[ClusterNetwork, ...] = ()
    service_networks: tuple[ServiceNetwork, ...] = ()
    machine_networks: tuple[MachineNetwork, ...] = ()
    machine_networks_reason: str = ""
    """Why the machine networks are these when nobody gave them; empty when somebody did."""
    api_vips: tuple[ApiVip, ...] = ()
    ingress_vips: tuple[IngressVip, ...] = ()
    vip_dhcp_allocation: bool = False
    http_proxy: str = ""
    https_proxy: str = ""
    no_proxy: str = ""
    additional_ntp_source: str = ""
    ntp_sources: str = ""
    # What else was asked.
    ssh_public_key: str = ""
    pull_secret: str = ""
    """Sealed."""
    disk_encryption: DiskEncryption | None = None
    ignition_endpoint: IgnitionEndpoint | None = None
    install_config_overrides: str = ""
    ignored_host_validations: tuple[str, ...] = ()
    ignored_cluster_validations: tuple[str, ...] = ()
    ui_settings: str = ""
    feature_usage: str = "{}"
    monitored_operators: tuple[MonitoredOperator, ...] = ()
    add_ons: tuple[AddOn, ...] = ()
    """Those of its release that were chosen, as soon as the release told what they take."""
    manifests: tuple[str, ...] = ()
    """Names of the user's manifests, with their folder; their content is a file of the realm."""
    # What follows from it.
    verdicts: tuple[Verdict, ...] = ()
    # How far it is.
    progress: ClusterProgressInfo = ClusterProgressInfo(total_percentage=0)
    preparation: LastInstallationPreparation = LastInstallationPreparation(status="not_started")
    install_started_at: datetime | None = None
    install_completed_at: datetime | None = None
    kubeconfig: bool = False
    """Whether its kubeconfig is there, with the authority of its ingress."""
    kubeconfig_given: bool = False
    """Whether people had it before the installation, so that nobody waits for one."""
    access_for: str = ""
    """The domain that its credentials were made for, if they were made before its installation."""
    access_taken: tuple[str, ...] = ()
    """What of them people have: the domain of the kubeconfig, and the file with the password."""
    rivals: tuple[str, ...] | None = None
    """MACs of others that answer at the address where the hosts of a site meet; None without a site."""
    release: ReleaseSight | None = None
    """What is known of the release of a site that installs itself; None without such a site."""
    strangers: dict[str, str] | None = None
    """Names of nodes whose installation the service lost with its memory, by host id; None without one."""
    org_soft_timeouts_enabled: bool = False
    """Whether hosts and stages that take too long are only told of, and do not fail the installation."""
    logs_info: str = ""
    controller_logs_started_at: datetime | None = None
    controller_logs_collected_at: datetime | None = None
    waiting: Waiting | None = None


class InfraEnv(State, frozen=True, kw_only=True):
    """Where hosts come from: what their boot medium carries."""

    id: str
    name: str
    type: Literal["full-iso", "minimal-iso", "disconnected-iso"] = "full-iso"
    created_at: datetime
    updated_at: datetime
    cluster_id: str | None = None
    openshift_version: str = ""
    os_stream: str = ""
    cpu_architecture: str = "x86_64"
    user_name: str = ""
    org_id: str = ""
    email_domain: str = ""
    proxy: Proxy | None = None
    additional_ntp_sources: str = ""
    ntp_sources: str = ""
    ssh_authorized_key: str = ""
    pull_secret: str = ""
    """Sealed."""
    static_network_config: tuple[HostStaticNetworkConfig, ...] = ()
    rendezvous_ip: str = ""
    ignition_config_override: str = ""
    kernel_arguments: tuple[KernelArgument, ...] = ()
    additional_trust_bundle: str = ""
    network_discovery_delay_seconds: int = 0
    hosts_seen: int = 0
    signing_key: str = ""
    """Part of every signed URL of its media: a new one makes the old URLs worthless."""
    size_bytes: int = 0


Subject: TypeAlias = Cluster | Host | InfraEnv
TYPES: dict[Kind, type[Subject]] = {"cluster": Cluster, "host": Host, "infra-env": InfraEnv}


def kind_of(subject: Subject) -> Kind:
    """The kind that a subject is filed under."""
    return "host" if isinstance(subject, Host) else "cluster" if isinstance(subject, Cluster) else "infra-env"
