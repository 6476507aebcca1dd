# SPDX-License-Identifier: Apache-2.0
"""What the hosts of one site are given to prove who they are, and no more than they need for it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Credentials:
    """The part of a site's secrets that goes onto its medium.

    All hosts boot the same medium, so whatever the rendezvous host needs, all of them can read. What is not
    needed there stays in the site's directory: the key that signs administrators' certificates, the key of
    the service's authority, and the tokens of people and watchers.
    """

    cluster_id: str
    infra_env_id: str
    password_hash: str = field(repr=False)
    """Of the kubeadmin password; it also lets `core` log in on a console."""
    cluster_tls: tuple[tuple[str, bytes], ...] = field(repr=False)
    """Authorities of the cluster, by file name: certificates, and the keys that serving certificates need."""
    service_tls: tuple[tuple[str, bytes], ...] = field(repr=False)
    """Certificate and key of the rendezvous service, and the authority that agents trust."""
    agent_token: str = field(repr=False)
    token_key: bytes
    """The public key that tokens are verified with."""
