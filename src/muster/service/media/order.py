# SPDX-License-Identifier: Apache-2.0
"""What decides the content of a discovery medium, besides the base image; plain data."""

from __future__ import annotations

import hashlib
from dataclasses import field
from datetime import datetime
from enum import StrEnum

import msgspec

from muster.frozen import dataclass
from muster.model.wire.infra_env import HostStaticNetworkConfig, KernelArgument, Proxy


class Kind(StrEnum):
    """What can be fetched."""

    FULL = "full-iso"
    MINIMAL = "minimal-iso"
    DISCONNECTED = "disconnected-iso"
    INITRD = "pxe-initrd"
    KERNEL = "kernel"
    ROOTFS = "rootfs"

    @property
    def is_public(self) -> bool:
        """Whether it is the same for everybody, and holds no secret."""
        return self in (Kind.KERNEL, Kind.ROOTFS)


@dataclass(frozen=True)
class MediumOrder:
    """What an infra-env says of its media, and what its hosts need to find the service."""

    infra_env_id: str
    name: str
    service_url: str
    """Where agents find the service."""
    media_url: str
    """Where hosts fetch the root file system of a minimal medium; no login is needed there."""
    updated_at: datetime
    agent_token: str = field(repr=False)
    ca_certificate: str = ""
    """PEM, of the authority that signed the service's certificate; empty if every system knows it."""
    ssh_key: str = ""
    proxy: Proxy | None = field(default=None, repr=False)
    trust_bundle: str = ""
    ntp_sources: tuple[str, ...] = ()
    static_network: tuple[HostStaticNetworkConfig, ...] = field(default=(), repr=False)
    ignition_override: str = field(default="", repr=False)
    kernel_arguments: tuple[KernelArgument, ...] = ()
    pull_secret: str = field(default="", repr=False)
    rendezvous_ip: str = ""
    image_type: Kind = Kind.FULL
    architecture: str = "x86_64"
    version: str = ""
    """Of the release, which has a base image of its own."""

    def digest(self) -> str:
        """A hash that differs whenever something of it does."""
        return hashlib.sha256(msgspec.json.encode(vars(self))).hexdigest()
