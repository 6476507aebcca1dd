# SPDX-License-Identifier: Apache-2.0
"""Secrets → certificates. Nothing random is added: the same secrets give the same certificates, to the byte.

Subjects, uses and dates are those that the cluster expects.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.x509.oid import NameOID

from muster.certificates.issue import (
    CLIENT,
    SERVER,
    TEN_YEARS,
    TWO_YEARS,
    Authority,
    Term,
    Wish,
    common_name,
    issue,
    make_authority,
    make_name,
)
from muster.frozen import dataclass
from muster.image.secrets import KeyName, SiteSecrets
from muster.release.node.authorities import SiteAuthorities

_OPENSHIFT: Final = "openshift"


@dataclass(frozen=True)
class Pki:
    """The certificates of a cluster that exist before the cluster does."""

    load_balancer: Authority
    localhost: Authority
    service_network: Authority
    admin: Authority
    admin_client: x509.Certificate
    ingress: Authority

    @property
    def api_bundle(self) -> str:
        """The authorities of the API's own certificates."""
        return "".join(each.pem for each in (self.localhost, self.service_network, self.load_balancer))

    @property
    def image_based_bundle(self) -> str:
        """The same and that of the applications: the console can be verified from the first minute."""
        return self.api_bundle + self.ingress.pem

    @property
    def ingress_name(self) -> str:
        """The common name of the applications' authority."""
        return ingress_name(self.ingress.certificate.not_valid_before_utc)


def build_pki(secrets: SiteSecrets) -> Pki:
    """The cluster's certificates."""
    admin = _signer(secrets, KeyName.ADMIN_SIGNER)
    return Pki(
        load_balancer=_signer(secrets, KeyName.LB_SIGNER),
        localhost=_signer(secrets, KeyName.LOCALHOST_SIGNER),
        service_network=_signer(secrets, KeyName.SERVICE_NETWORK_SIGNER),
        admin=admin,
        admin_client=_admin_client(secrets, admin),
        ingress=_ingress(secrets),
    )


def site_authorities(pki: Pki) -> SiteAuthorities:
    """What a cluster that Muster itself makes takes over, so that auth/kubeconfig is its kubeconfig."""
    return SiteAuthorities(serving=pki.load_balancer, api_bundle=pki.api_bundle, admin=pki.admin.pem)


def build_service_authority(secrets: SiteSecrets) -> Authority:
    """The authority of the service that hosts meet at, and of nothing else."""
    subject = make_name(
        (NameOID.ORGANIZATIONAL_UNIT_NAME, "muster"), (NameOID.COMMON_NAME, "muster-service-ca")
    )
    return _authority(secrets, KeyName.SERVICE_CA, subject, TEN_YEARS)


def build_service_certificate(secrets: SiteSecrets, names: Sequence[str]) -> x509.Certificate:
    """The certificate of the service that hosts meet at, for these names and addresses."""
    subject = make_name((NameOID.ORGANIZATIONAL_UNIT_NAME, "muster"), (NameOID.COMMON_NAME, "muster-service"))
    wish = Wish(subject, secrets.private[KeyName.SERVICE], (SERVER,), tuple(names))
    return issue(build_service_authority(secrets), wish, _term(secrets, TEN_YEARS))


def ingress_name(created: datetime) -> str:
    """The name that the ingress operator gives to its authority."""
    return f"ingress-operator@{int(created.timestamp())}"


def _signer(secrets: SiteSecrets, name: KeyName) -> Authority:
    subject = make_name((NameOID.ORGANIZATIONAL_UNIT_NAME, _OPENSHIFT), (NameOID.COMMON_NAME, str(name)))
    return _authority(secrets, name, subject, TEN_YEARS)


def _ingress(secrets: SiteSecrets) -> Authority:
    subject = common_name(ingress_name(secrets.created))
    return _authority(secrets, KeyName.INGRESS_SIGNER, subject, TWO_YEARS)


def _authority(secrets: SiteSecrets, name: KeyName, subject: x509.Name, valid: timedelta) -> Authority:
    return make_authority(subject, secrets.private[name], _term(secrets, valid))


def _admin_client(secrets: SiteSecrets, authority: Authority) -> x509.Certificate:
    subject = make_name((NameOID.ORGANIZATION_NAME, "system:masters"), (NameOID.COMMON_NAME, "system:admin"))
    wish = Wish(subject, secrets.private[KeyName.ADMIN_CLIENT], (SERVER, CLIENT))
    return issue(authority, wish, _term(secrets, TEN_YEARS))


def _term(secrets: SiteSecrets, length: timedelta) -> Term:
    return Term(secrets.cluster_id, secrets.created, length)
