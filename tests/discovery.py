# SPDX-License-Identifier: Apache-2.0
"""Infra-envs whose media tests fetch: orders, keys, and base images that are there."""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec

from muster.image.base_image import BaseImage
from muster.model.wire.infra_env import HostStaticNetworkConfig, KernelArgument, MacInterface, Proxy
from muster.service.media.bases import KnownImages
from muster.service.media.compose import Composer
from muster.service.media.desk import Desk, Offer
from muster.service.media.order import MediumOrder
from muster.service.media.signing import Signer

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
INFRA_ENV = "0a1b2c3d-0000-4000-8000-000000000001"
OTHER = "0a1b2c3d-0000-4000-8000-000000000002"
TOKEN = "a-token-of-agents"
PULL_SECRET = '{"auths": {"registry.example.com": {"auth": "dTpw"}}}'
CA = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
NETWORK = """\
interfaces:
- name: eth0
  type: ethernet
  state: up
  ipv4:
    enabled: true
    dhcp: false
    address:
    - ip: 192.0.2.{0}
      prefix-length: 24
"""


def host_network(number: int, text: str = NETWORK) -> HostStaticNetworkConfig:
    """The static network of a host."""
    card = MacInterface(mac_address=f"52:54:00:AD:00:{number:02x}", logical_nic_name="eth0")
    return HostStaticNetworkConfig(network_yaml=text.replace("{0}", str(number)), mac_interface_map=(card,))


def order(**changes: Any) -> MediumOrder:
    """An infra-env that uses everything."""
    made = MediumOrder(
        infra_env_id=INFRA_ENV,
        name="site-a",
        service_url="https://service.example.com:8090",
        media_url="http://service.example.com:8091",
        updated_at=NOW,
        agent_token=TOKEN,
        ca_certificate=CA,
        ssh_key="ssh-ed25519 AAAA user@example.com",
        proxy=Proxy(http_proxy="http://proxy.example.com:3128", no_proxy="example.com"),
        trust_bundle=CA,
        ntp_sources=("ntp.example.com",),
        static_network=(host_network(10), host_network(11)),
        ignition_override="",
        kernel_arguments=(KernelArgument(operation="append", value="console=ttyS0"),),
        pull_secret=PULL_SECRET,
        rendezvous_ip="192.0.2.10",
    )
    return dataclasses.replace(made, **changes)


def base_of(path: Path) -> BaseImage:
    data = path.read_bytes()
    return BaseImage(path, hashlib.sha256(data).hexdigest(), len(data), str(path))


@dataclass
class Now:
    """A clock that tests set."""

    at: datetime = NOW

    def __call__(self) -> datetime:
        return self.at

    def pass_by(self, span: timedelta) -> None:
        self.at += span


@dataclass
class Site:
    """A service's media over one base image."""

    base: Path
    offers: dict[str, Offer] = field(default_factory=dict)
    now: Now = field(default_factory=Now)
    is_open: bool = False

    def __post_init__(self) -> None:
        self.offers.setdefault(INFRA_ENV, Offer(order(), "key-1"))
        self.signer = Signer(ec.derive_private_key(7, ec.SECP256R1()), self.now)
        self.composer = Composer(KnownImages({("x86_64", ""): lambda: base_of(self.base)}))
        self.desk = Desk(self, self.composer, self.signer, is_open=self.is_open)

    def find(self, infra_env_id: str) -> Offer | None:
        return self.offers.get(infra_env_id)

    def token(self, infra_env_id: str = INFRA_ENV) -> str:
        return self.signer.sign(infra_env_id, self.offers[infra_env_id].key_id)[0]

    def path(self, name: str = "full.iso") -> str:
        return f"/byapikey/{self.token()}/any/x86_64/{name}"
