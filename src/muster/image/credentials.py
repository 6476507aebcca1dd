# SPDX-License-Identifier: Apache-2.0
"""What the hosts of one site are given to prove who they are, and no more than they need for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from datetime import timedelta
from typing import Final

from muster.certificates.issue import Authority, render_certificate
from muster.frozen import dataclass
from muster.image.pki import build_pki, build_service_authority, build_service_certificate
from muster.image.secrets import KeyName, SiteSecrets
from muster.image.tokens import build_tokens
from muster.model.plan import Plan
from muster.model.release import KUBERNETES

_SERVING: Final = (KeyName.LB_SIGNER,)
"""The rendezvous host signs the certificates of the API with it: names and addresses are known only there."""
_SERVING_OPENSHIFT: Final = (KeyName.LB_SIGNER, KeyName.LOCALHOST_SIGNER, KeyName.SERVICE_NETWORK_SIGNER)
"""The installer of OpenShift wants all three."""


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


def credentials_of(plan: Plan, secrets: SiteSecrets, valid_for: timedelta) -> Credentials:
    """What goes onto the medium of a site."""
    tokens = build_tokens(secrets, valid_for)
    return Credentials(
        cluster_id=secrets.cluster_id,
        infra_env_id=secrets.infra_env_id,
        password_hash=secrets.kubeadmin_password_hash,
        cluster_tls=tuple(_cluster_tls(secrets, serving_keys(plan))),
        service_tls=tuple(_service_tls(plan, secrets)),
        agent_token=tokens.agent,
        token_key=tokens.public_key.encode(),
    )


def serving_keys(plan: Plan) -> tuple[KeyName, ...]:
    """The authorities of the API whose keys the medium has: all, if the kind of the release is not known."""
    return _SERVING if plan.release_kind == KUBERNETES else _SERVING_OPENSHIFT


def _cluster_tls(secrets: SiteSecrets, with_key: tuple[KeyName, ...]) -> Iterator[tuple[str, bytes]]:
    pki = build_pki(secrets)
    signers: dict[KeyName, Authority] = {
        KeyName.LB_SIGNER: pki.load_balancer,
        KeyName.LOCALHOST_SIGNER: pki.localhost,
        KeyName.SERVICE_NETWORK_SIGNER: pki.service_network,
        KeyName.ADMIN_SIGNER: pki.admin,
    }
    for name, authority in signers.items():
        yield f"{name}.crt", authority.pem.encode()
        if name in with_key:
            yield f"{name}.key", secrets.keys[name].encode()
    yield "kubeadmin-password.hash", secrets.kubeadmin_password_hash.encode()


def _service_tls(plan: Plan, secrets: SiteSecrets) -> Iterator[tuple[str, bytes]]:
    yield "service-ca.crt", build_service_authority(secrets).pem.encode()
    meeting = plan.rendezvous
    names = [str(meeting.ip), *([meeting.host] if meeting.host else [])] if meeting else ["localhost"]
    yield "service.crt", render_certificate(build_service_certificate(secrets, names)).encode()
    yield "service.key", secrets.keys[KeyName.SERVICE].encode()
