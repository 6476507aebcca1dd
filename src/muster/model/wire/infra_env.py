# SPDX-License-Identifier: Apache-2.0
"""Where hosts come from: what their boot medium carries."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from muster.model.wire.enums import Architecture, ImageType
from muster.model.wire.struct import JsonList, PullSecret, PullSecretSet, Servers, Time, Wire, about


class MacInterface(Wire, frozen=True, kw_only=True):
    """The name that a network device is given in a static network configuration."""

    mac_address: str
    logical_nic_name: Annotated[
        str | None, about("The name by which the configuration calls the device.")
    ] = None


class HostStaticNetworkConfig(Wire, frozen=True, kw_only=True):
    """The static network configuration of one host."""

    network_yaml: Annotated[
        str | None, about("NMState configuration; it names devices by logical_nic_name.")
    ] = None
    mac_interface_map: tuple[MacInterface, ...] | None = None


class Proxy(Wire, frozen=True, kw_only=True):
    """How hosts reach what is outside."""

    http_proxy: str | None = None
    https_proxy: str | None = None
    no_proxy: str | None = None


class InfraEnv(Wire, frozen=True, kw_only=True):
    """What a discovery image is made from, and the pool that its hosts appear in."""

    kind: Literal["InfraEnv"]
    id: str
    href: Annotated[str, about("Path of the infra-env under this interface.")]
    name: str
    type: ImageType
    updated_at: Time
    created_at: Time
    openshift_version: str | None = None
    user_name: str | None = None
    org_id: str | None = None
    email_domain: str | None = None
    os_stream: str | None = None
    proxy: Proxy | None = None
    additional_ntp_sources: Servers = None
    ntp_sources: Servers = None
    ssh_authorized_key: str | None = None
    pull_secret_set: PullSecretSet = None
    static_network_config: JsonList = None
    rendezvous_ip: Annotated[str | None, about("Address of the host that runs the service.")] = None
    ignition_config_override: Annotated[
        str | None, about("JSON in a string that is merged into the Ignition of the image.")
    ] = None
    cluster_id: str | None = None
    size_bytes: Annotated[int, Meta(ge=0)] | None = None
    download_url: Annotated[str | None, about("Signed address of the discovery image.")] = None
    generator_version: str | None = None
    expires_at: Annotated[Time | None, about("When the signed address stops working.")] = None
    cpu_architecture: Architecture | None = None
    kernel_arguments: JsonList = None
    additional_trust_bundle: str | None = None
    network_discovery_delay_seconds: Annotated[int, Meta(ge=0)] | None = None


class KernelArgument(Wire, frozen=True, kw_only=True):
    """A change of the kernel's command line."""

    operation: Literal["append", "replace", "delete"] | None = None
    value: str | None = None


class InfraEnvCreateParams(Wire, frozen=True, kw_only=True):
    """What a new infra-env is to be like."""

    name: str
    pull_secret: PullSecret
    proxy: Proxy | None = None
    additional_ntp_sources: Servers = None
    ntp_sources: Servers = None
    ssh_authorized_key: str | None = None
    static_network_config: tuple[HostStaticNetworkConfig, ...] | None = None
    rendezvous_ip: str | None = None
    image_type: ImageType | None = None
    ignition_config_override: Annotated[
        str | None, about("JSON in a string that is merged into the Ignition of the image.")
    ] = None
    cluster_id: Annotated[
        str | None, about("The cluster that its hosts join; without it they wait in a pool.")
    ] = None
    openshift_version: str | None = None
    cpu_architecture: Architecture | None = None
    os_stream: str | None = None
    kernel_arguments: tuple[KernelArgument, ...] | None = None
    additional_trust_bundle: Annotated[str, Meta(max_length=65535)] | None = None
    network_discovery_delay_seconds: Annotated[int, Meta(ge=0)] | None = None


class InfraEnvUpdateParams(Wire, frozen=True, kw_only=True):
    """What is to change in an infra-env; what is not given stays."""

    proxy: Proxy | None = None
    additional_ntp_sources: Servers = None
    ntp_sources: Servers = None
    ssh_authorized_key: str | None = None
    pull_secret: PullSecret | None = None
    static_network_config: tuple[HostStaticNetworkConfig, ...] | None = None
    rendezvous_ip: str | None = None
    image_type: ImageType | None = None
    ignition_config_override: Annotated[
        str | None, about("JSON in a string that is merged into the Ignition of the image.")
    ] = None
    kernel_arguments: tuple[KernelArgument, ...] | None = None
    additional_trust_bundle: Annotated[str, Meta(max_length=65535)] | None = None
    openshift_version: str | None = None
    os_stream: str | None = None
    network_discovery_delay_seconds: Annotated[int, Meta(ge=0)] | None = None


class PresignedUrl(Wire, frozen=True, kw_only=True):
    """An address that needs no login and works for a limited time."""

    url: str
    expires_at: Time | None = None
