# SPDX-License-Identifier: Apache-2.0
"""Where hosts come from: what their boot medium carries."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta

from muster.model.wire.enums import ImageType
from muster.model.wire.struct import Wire


class MacInterfaceMapInner(Wire):
    """TODO"""

    mac_address: str
    logical_nic_name: str | None = None


class HostStaticNetworkConfig(Wire):
    """TODO"""

    network_yaml: str | None = None
    mac_interface_map: tuple[MacInterfaceMapInner, ...] | None = None


class Proxy(Wire):
    """TODO"""

    http_proxy: str | None = None
    https_proxy: str | None = None
    no_proxy: str | None = None


class InfraEnv(Wire):
    """TODO"""

    kind: Literal["InfraEnv"]
    id: str
    href: str
    name: str
    type: ImageType
    updated_at: datetime
    created_at: datetime
    openshift_version: str | None = None
    user_name: str | None = None
    org_id: str | None = None
    email_domain: str | None = None
    os_stream: str | None = None
    proxy: Proxy | None = None
    additional_ntp_sources: str | None = None
    ntp_sources: str | None = None
    ssh_authorized_key: str | None = None
    pull_secret_set: bool | None = None
    static_network_config: str | None = None
    rendezvous_ip: str | None = None
    ignition_config_override: str | None = None
    cluster_id: str | None = None
    size_bytes: Annotated[int, Meta(ge=0)] | None = None
    download_url: str | None = None
    generator_version: str | None = None
    expires_at: datetime | None = None
    cpu_architecture: Literal["x86_64", "aarch64", "arm64", "ppc64le", "s390x"] | None = None
    kernel_arguments: str | None = None
    additional_trust_bundle: str | None = None
    network_discovery_delay_seconds: Annotated[int, Meta(ge=0)] | None = None


class KernelArgument(Wire):
    """TODO"""

    operation: Literal["append", "replace", "delete"] | None = None
    value: str | None = None


class InfraEnvCreateParams(Wire):
    """TODO"""

    name: str
    pull_secret: str
    proxy: Proxy | None = None
    additional_ntp_sources: str | None = None
    ntp_sources: str | None = None
    ssh_authorized_key: str | None = None
    static_network_config: tuple[HostStaticNetworkConfig, ...] | None = None
    rendezvous_ip: str | None = None
    image_type: ImageType | None = None
    ignition_config_override: str | None = None
    cluster_id: str | None = None
    openshift_version: str | None = None
    cpu_architecture: Literal["x86_64", "aarch64", "arm64", "ppc64le", "s390x"] | None = None
    os_stream: str | None = None
    kernel_arguments: tuple[KernelArgument, ...] | None = None
    additional_trust_bundle: Annotated[str, Meta(max_length=65535)] | None = None
    network_discovery_delay_seconds: Annotated[int, Meta(ge=0)] | None = None


class InfraEnvUpdateParams(Wire):
    """TODO"""

    proxy: Proxy | None = None
    additional_ntp_sources: str | None = None
    ntp_sources: str | None = None
    ssh_authorized_key: str | None = None
    pull_secret: str | None = None
    static_network_config: tuple[HostStaticNetworkConfig, ...] | None = None
    rendezvous_ip: str | None = None
    image_type: ImageType | None = None
    ignition_config_override: str | None = None
    kernel_arguments: tuple[KernelArgument, ...] | None = None
    additional_trust_bundle: Annotated[str, Meta(max_length=65535)] | None = None
    openshift_version: str | None = None
    os_stream: str | None = None
    network_discovery_delay_seconds: Annotated[int, Meta(ge=0)] | None = None


class PresignedUrl(Wire):
    """TODO"""

    url: str
    expires_at: datetime | None = None
