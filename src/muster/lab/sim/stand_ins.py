# SPDX-License-Identifier: Apache-2.0
"""What the service is given in a model in place of keys, media and a release."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

from muster.errors import UserError
from muster.model.wire.infra_env import HostStaticNetworkConfig
from muster.service.drivers.install_config import render_install_config
from muster.service.drivers.members import find_members
from muster.service.media.network import read_networks
from muster.service.release_driver import ClusterOrder
from muster.service.state import InfraEnv

_NEVER: Final = datetime(9999, 1, 1, tzinfo=UTC)
_AUTHORITY: Final = "-----BEGIN CERTIFICATE-----\nbW9kZWw=\n-----END CERTIFICATE-----\n"
INGRESS: Final = """\
-----BEGIN CERTIFICATE-----
MIIBjTCCATOgAwIBAgIUWarPxCmfTeEjVyPrfQVT1+Z/7hgwCgYIKoZIzj0EAwIw
GzEZMBcGA1UEAwwQaW5ncmVzcy1vcGVyYXRvcjAgFw0yNjExMTgxNTU5NDNaGA8y
MTI2MTAyNTE1NTk0M1owGzEZMBcGA1UEAwwQaW5ncmVzcy1vcGVyYXRvcjBZMBMG
ByqGSM49AgEGCCqGSM49AwEHA0IABL+QjwtAhBEpNz2rI0cgMjO6vbtVliaO0boD
Cc1rEUhHdHdV6R9aPw8kYADE4rXPH+aEu0QMMPjoetSYD+KohjmjUzBRMB0GA1Ud
DgQWBBQ6Dzy8sqtymbNoRWqWufTV/Xo7UDAfBgNVHSMEGDAWgBQ6Dzy8sqtymbNo
RWqWufTV/Xo7UDAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIDqJ
hSq8404qBeXUR5RJd1XLcWUXRYGtMYgNpON/jOkzAiEA8mS6lQyybOXnlx7UAYZj
XZAuy2kPeDPGwLCS6Zc92/A=
-----END CERTIFICATE-----
"""
"""The authority of the routes of a modelled cluster."""
"""The authority of the applications of every modelled cluster."""


class OpenVault:
    """Hides nothing: what a model knows never leaves the process."""

    def seal(self, subject: str, field: str, text: str) -> str:  # noqa: ARG002
        return text

    def open(self, subject: str, field: str, sealed: str) -> str:  # noqa: ARG002
        return sealed


class NoMedia:
    """Modelled hosts have booted; what their networks are is looked at all the same."""

    def url_of(self, infra_env: InfraEnv) -> tuple[str, datetime]:
        return f"https://service.example.com/images/{infra_env.id}", _NEVER

    def file_url_of(self, infra_env: InfraEnv, query: dict[str, str]) -> tuple[str, datetime]:  # noqa: ARG002
        return self.url_of(infra_env)

    def ignition_of(self, infra_env: InfraEnv) -> bytes:
        raise _missing(infra_env)

    def networks_of(self, infra_env: InfraEnv) -> bytes:
        raise _missing(infra_env)

    def initrd_of(self, infra_env: InfraEnv) -> bytes | None:
        raise _missing(infra_env)

    def script_of(self, infra_env: InfraEnv) -> str:
        raise _missing(infra_env)

    def redirect_of(self, infra_env: InfraEnv) -> str:
        raise _missing(infra_env)

    def check_networks(self, networks: Iterable[HostStaticNetworkConfig]) -> None:
        read_networks(tuple(networks))


def _missing(infra_env: InfraEnv) -> UserError:
    return UserError(f"{infra_env.name} has no media in a model", hint="serve it with `muster serve`")


class NoLinks:
    """Nobody follows links in a model."""

    def sign(self, path: str, expires: datetime, *, cluster_id: str) -> str:  # noqa: ARG002
        return path


class NoTokens:
    """Nobody asks who a modelled host is."""

    def issue(self, infra_env_id: str, host_id: str, epoch: int | None = None) -> str:  # noqa: ARG002
        return f"{infra_env_id}/{host_id}"

    def challenge(self, infra_env_id: str, host_id: str) -> str:
        return f"{infra_env_id}/{host_id}"

    def is_proof(self, key: str, _infra_env_id: str, _host_id: str, _signed: tuple[str, str]) -> bool:
        return bool(key)


class ModelDriver:
    """A release whose hosts are chosen as those of a real one, but whose files have nothing in them."""

    def __init__(self, images: tuple[str, ...], kind: str) -> None:
        self._images, self.kind = images, kind

    def install_config(self, order: ClusterOrder) -> str:
        return render_install_config(order)

    def images(self, order: ClusterOrder) -> tuple[str, ...]:  # noqa: ARG002
        return self._images

    def credentials(self, order: ClusterOrder) -> Mapping[str, bytes]:
        authority = base64.b64encode(_AUTHORITY.encode()).decode()
        config = {
            "clusters": [{"name": order.cluster.name, "cluster": {"certificate-authority-data": authority}}]
        }
        return {"kubeconfig-noingress": json.dumps(config).encode(), "kubeadmin-password": b"model"}

    def prepare(self, order: ClusterOrder) -> Mapping[str, bytes]:
        members = find_members(order)
        return {
            **self.credentials(order),
            "install-config.yaml": render_install_config(order).encode(),
            "metadata.json": json.dumps({"clusterName": order.cluster.name}).encode(),
            **{f"host/{host.id}.ign": b"{}" for host, _ in members},
        }
