# SPDX-License-Identifier: Apache-2.0
"""The certificates, keys and kubeconfigs of one host: what it needs for its role, and nothing else.

They hold as long as their authorities do, ten years: nobody comes to a closed site to renew them, and a
cluster that was switched off for a year has to start again. Nothing is renewed on the way.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from cryptography.x509.oid import NameOID, ObjectIdentifier

from muster.certificates.issue import (
    CLIENT,
    SERVER,
    TEN_YEARS,
    Authority,
    Wish,
    common_name,
    issue,
    make_name,
    render_certificate,
)
from muster.certificates.keys import P256, Random, make_key, public_pem, render_key
from muster.certificates.kubeconfig import Access, render_kubeconfig
from muster.frozen import dataclass
from muster.model.host import Role
from muster.model.ignition import PUBLIC, File
from muster.release.node.authorities import ClusterAuthorities
from muster.release.node.cluster import Cluster, Member
from muster.release.node.templates import fill, load_template

HOME: Final = "/etc/kubernetes"
PKI: Final = f"{HOME}/pki"
KUBELET_AUTHORITY: Final = f"{PKI}/kubelet-ca.crt"
API: Final = f"{HOME}/api"
"""What the API server reads besides certificates."""
SETUP: Final = f"{HOME}/setup"
SETUP_TERM: Final = timedelta(days=7)
"""The login that may do everything is for the beginning alone; it is removed when that is over."""
LOCAL_NAMES: Final = ("localhost", "127.0.0.1", "::1")


def node_certificates(
    authorities: ClusterAuthorities, cluster: Cluster, host: Member, random: Random
) -> tuple[File, ...]:
    """The files of one host; new keys for each of them."""
    desk = _Desk(authorities, cluster, host, random)
    return tuple(_files(desk))


def api_names(cluster: Cluster, host: Member) -> tuple[str, ...]:
    """All that the API on a host may be called by: one certificate is good for all of it."""
    inside = "kubernetes.default.svc"
    found = [
        *cluster.names,
        *map(str, cluster.api_vips),
        host.name,
        *map(str, host.addresses),
        *("kubernetes", "kubernetes.default", inside, f"{inside}.{cluster.dns_domain}"),
        *(str(network[1]) for network in cluster.services),
        *LOCAL_NAMES,
    ]
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class _Desk:
    """Where the papers of one host are made out."""

    authorities: ClusterAuthorities
    cluster: Cluster
    host: Member
    random: Random

    def pair(self, path: str, authority: Authority, name: str, names: tuple[str, ...] = ()) -> Iterator[File]:
        """A certificate and its key. Who has names is called; who has none calls."""
        key = make_key(P256, self.random)
        wish = Wish(common_name(name), key, self._uses(authority, names), names)
        certificate = issue(authority, wish, self.authorities.term(authority))
        yield File(f"{PKI}/{path}.crt", render_certificate(certificate).encode(), PUBLIC)
        yield File(f"{PKI}/{path}.key", render_key(key).encode())

    def _uses(self, authority: Authority, names: tuple[str, ...]) -> tuple[ObjectIdentifier, ...]:
        if names and authority is self.authorities.etcd:
            return (SERVER, CLIENT)  # Members of etcd call each other.
        return (SERVER,) if names else (CLIENT,)

    def login(self, path: str, user: str, group: str = "", term: timedelta = TEN_YEARS) -> File:
        """A kubeconfig for somebody on this host."""
        key = make_key(P256, self.random)
        authority = self.authorities.client
        parts = [(NameOID.ORGANIZATION_NAME, group)] if group else []
        wish = Wish(make_name(*parts, (NameOID.COMMON_NAME, user)), key, (CLIENT,))
        certificate = issue(authority, wish, self.authorities.term(authority, term))
        access = Access(
            cluster=self.cluster.name,
            server=self.cluster.server_for(self.host),
            bundle=self.authorities.site.api_bundle,
            user=user,
            certificate=render_certificate(certificate),
            key=render_key(key),
        )
        return File(f"{HOME}/{path}", render_kubeconfig(access).encode())


def _files(desk: _Desk) -> Iterator[File]:
    yield from _of_every_host(desk)
    if desk.host.role is not Role.WORKER:
        yield from _of_a_voter(desk)
    if desk.host.role is Role.MASTER:
        yield from _of_the_control_plane(desk)
    if desk.host == desk.cluster.first:
        yield desk.login("setup/kubeconfig", "muster-cluster-setup", "system:masters", SETUP_TERM)


def _of_every_host(desk: _Desk) -> Iterator[File]:
    authorities, host = desk.authorities, desk.host
    node = f"system:node:{host.name}"
    yield _public("api-ca.crt", authorities.site.api_bundle)
    yield _public("kubelet-client-ca.crt", authorities.client.pem)
    yield from desk.pair("kubelet", authorities.kubelet, node, (host.name, *map(str, host.addresses)))
    yield desk.login("kubelet.conf", node, "system:nodes")
    yield desk.login("kube-proxy.conf", "system:kube-proxy")


def _of_a_voter(desk: _Desk) -> Iterator[File]:
    host = desk.host
    names = (host.name, *map(str, host.addresses), *LOCAL_NAMES)
    yield _public("etcd/ca.crt", desk.authorities.etcd.pem)
    yield from desk.pair("etcd/member", desk.authorities.etcd, host.name, names)


def _of_the_control_plane(desk: _Desk) -> Iterator[File]:
    authorities = desk.authorities
    names = api_names(desk.cluster, desk.host)
    yield from desk.pair("apiserver", authorities.site.serving, "kube-apiserver", names)
    yield _public("client-ca.crt", authorities.client_bundle)
    yield File(KUBELET_AUTHORITY, authorities.kubelet.pem.encode(), PUBLIC)
    yield _public("front-proxy-ca.crt", authorities.front_proxy.pem)
    yield from desk.pair("apiserver-kubelet-client", authorities.client, "kube-apiserver-kubelet-client")
    yield from desk.pair("front-proxy-client", authorities.front_proxy, "front-proxy-client")
    yield desk.login("controller-manager.conf", "system:kube-controller-manager")
    yield desk.login("scheduler.conf", "system:kube-scheduler")
    yield _public("service-account.pub", public_pem(authorities.service_account.public_key()))
    yield File(f"{PKI}/service-account.key", render_key(authorities.service_account).encode())
    key = {"secrets_key": b64encode(authorities.secrets_key).decode("ascii")}
    yield File(f"{API}/encryption.yaml", fill(load_template("api/encryption.yaml"), key).encode())


def _public(name: str, text: str) -> File:
    return File(f"{PKI}/{name}", text.encode(), PUBLIC)
