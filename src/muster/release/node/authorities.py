# SPDX-License-Identifier: Apache-2.0
"""The authorities of a cluster: those that its site had from the beginning, and those that it needs itself.

The site's authorities are what auth/kubeconfig was made with: the same file works before and after there is a
cluster. None of the keys here goes to a host. So nobody in the cluster signs certificates that its API is
asked for; whoever wants that brings a signer with an authority of its own.
"""

from __future__ import annotations

from dataclasses import field
from datetime import UTC, datetime, timedelta
from typing import Final

from muster.certificates.issue import TEN_YEARS, Authority, Term, common_name, make_authority
from muster.certificates.keys import P256, PrivateKey, Random, make_key
from muster.frozen import dataclass

BACKDATED: Final = timedelta(hours=1)
"""Clocks of hosts that are a little behind shall not find that a certificate is not valid yet."""
_SECRETS_KEY_BYTES: Final = 32
"""As secretbox wants it."""


@dataclass(frozen=True)
class SiteAuthorities:
    """What a cluster takes over from its site."""

    serving: Authority
    """Signs the certificates that the API shows."""
    api_bundle: str
    """Whom everybody believes who calls the API, as PEM: what auth/kubeconfig has."""
    admin: str
    """The authority of administrators' certificates, as PEM. Its key stays where the site is kept."""


@dataclass(frozen=True)
class ClusterAuthorities:
    """All authorities of one cluster."""

    cluster_id: str
    start: datetime
    site: SiteAuthorities
    client: Authority
    """Of those who call the API: kubelets, controllers."""
    kubelet: Authority
    """Of what kubelets show to the API."""
    etcd: Authority
    front_proxy: Authority
    service_account: PrivateKey = field(repr=False)
    secrets_key: bytes = field(repr=False)
    """The key of 256 bits that Secrets are encrypted with in etcd; all control-plane hosts have the same."""

    def term(self, authority: Authority, length: timedelta = TEN_YEARS) -> Term:
        """How long something holds that an authority signs: never longer than the authority itself."""
        left = authority.certificate.not_valid_after_utc - self.start
        return Term(self.cluster_id, self.start, min(length, left))

    @property
    def client_bundle(self) -> str:
        """Whose certificates the API takes from those who call it."""
        return self.site.admin + self.client.pem


def make_authorities(
    site: SiteAuthorities, cluster_id: str, random: Random, now: datetime
) -> ClusterAuthorities:
    """New authorities for a cluster, by what is random and the time."""
    start = now.astimezone(UTC).replace(microsecond=0) - BACKDATED
    term = Term(cluster_id, start, TEN_YEARS)

    def authority(name: str) -> Authority:
        return make_authority(common_name(name), make_key(P256, random), term)

    return ClusterAuthorities(
        cluster_id=cluster_id,
        start=start,
        site=site,
        client=authority("kube-client-signer"),
        kubelet=authority("kubelet-serving-signer"),
        etcd=authority("etcd-signer"),
        front_proxy=authority("front-proxy-signer"),
        service_account=make_key(P256, random),
        secrets_key=random(_SECRETS_KEY_BYTES),
    )
