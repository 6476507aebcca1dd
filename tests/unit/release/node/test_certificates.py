# SPDX-License-Identifier: Apache-2.0
"""Who may be believed to be whom: certificates of hosts verify where they have to, and nowhere else."""

from __future__ import annotations

import base64
from datetime import timedelta
from ipaddress import ip_address
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from muster.certificates.keys import parse_key, public_pem
from muster.image.kubeconfig import render_kubeconfig
from muster.image.pki import build_pki
from muster.model.host import Role
from muster.model.ignition import PUBLIC, SECRET
from muster.release.node.certificates import node_certificates
from muster.release.node.cluster import Cluster, Member
from tests.clusters import ARBITER, CLUSTERS, DUAL, SINGLE, THREE, WITH_WORKER, authorities, cluster
from tests.seeds import NOW, fixed_secrets, seeded

PKI = "/etc/kubernetes/pki/"


def files_of(cluster: Cluster, host: Member) -> dict[str, bytes]:
    made = node_certificates(authorities(), cluster, host, seeded("hosts"))
    return {file.path: file.data for file in made}


def chain(files: dict[str, bytes], name: str) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(files[PKI + name])


def login(files: dict[str, bytes], path: str) -> tuple[dict[str, Any], x509.Certificate]:
    body: dict[str, Any] = yaml.safe_load(files[f"/etc/kubernetes/{path}"])
    pem = base64.b64decode(body["users"][0]["user"]["client-certificate-data"])
    return body, x509.load_pem_x509_certificate(pem)


def verify_server(certificate: x509.Certificate, trusted: list[x509.Certificate], name: str) -> None:
    try:
        subject: x509.DNSName | x509.IPAddress = x509.IPAddress(ip_address(name))
    except ValueError:
        subject = x509.DNSName(name)
    PolicyBuilder().store(Store(trusted)).time(NOW).build_server_verifier(subject).verify(certificate, [])


def names_of(certificate: x509.Certificate) -> set[str]:
    extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    return {str(each.value) for each in extension.value}


def signed_by(certificate: x509.Certificate, trusted: list[x509.Certificate]) -> str:
    """The name of the one among these who signed it."""
    for each in trusted:
        if each.subject == certificate.issuer:
            certificate.verify_directly_issued_by(each)
            return each.subject.rfc4514_string()
    return ""


@pytest.mark.parametrize(
    "name",
    [
        "api.site.example.com",
        "api-int.site.example.com",
        "192.0.2.5",
        "192.0.2.10",
        "master-0",
        "kubernetes.default.svc.cluster.local",
        "kubernetes.default.svc",
        "172.30.0.1",
        "localhost",
        "127.0.0.1",
    ],
)
def test_the_api_is_believed_by_whatever_it_is_called(name: str) -> None:
    files = files_of(THREE, THREE.first)
    verify_server(chain(files, "apiserver.crt")[0], chain(files, "api-ca.crt"), name)


@pytest.mark.parametrize("name", ["master-1", "192.0.2.11", "172.30.0.10", "api.other.example.com"])
def test_the_api_is_nobody_else(name: str) -> None:
    files = files_of(THREE, THREE.first)
    with pytest.raises(VerificationError):
        verify_server(chain(files, "apiserver.crt")[0], chain(files, "api-ca.crt"), name)


def test_both_families() -> None:
    files = files_of(DUAL, DUAL.first)
    assert {"192.0.2.10", "2001:db8::10", "172.30.0.1", "fd02::1"} <= names_of(
        chain(files, "apiserver.crt")[0]
    )
    assert {"192.0.2.10", "2001:db8::10"} <= names_of(chain(files, "etcd/member.crt")[0])
    assert {"192.0.2.10", "2001:db8::10"} <= names_of(chain(files, "kubelet.crt")[0])


def test_the_kubeconfig_of_the_site_is_that_of_the_cluster() -> None:
    secrets = fixed_secrets()
    pki = build_pki(secrets)
    body = yaml.safe_load(render_kubeconfig(pki, secrets, SINGLE.name, SINGLE.base_domain, pki.api_bundle))
    files = files_of(SINGLE, SINGLE.first)
    trusted = x509.load_pem_x509_certificates(
        base64.b64decode(body["clusters"][0]["cluster"]["certificate-authority-data"])
    )
    server = body["clusters"][0]["cluster"]["server"]
    assert server == "https://api.site.example.com:6443"
    verify_server(chain(files, "apiserver.crt")[0], trusted, "api.site.example.com")
    assert "admin-kubeconfig-signer" in signed_by(pki.admin_client, chain(files, "client-ca.crt"))


def test_who_calls_the_api() -> None:
    files = files_of(THREE, THREE.first)
    expected = {
        "kubelet.conf": "CN=system:node:master-0,O=system:nodes",
        "kube-proxy.conf": "CN=system:kube-proxy",
        "controller-manager.conf": "CN=system:kube-controller-manager",
        "scheduler.conf": "CN=system:kube-scheduler",
        "setup/kubeconfig": "CN=muster-cluster-setup,O=system:masters",
    }
    for path, subject in expected.items():
        body, certificate = login(files, path)
        assert certificate.subject.rfc4514_string() == subject
        assert signed_by(certificate, chain(files, "client-ca.crt")) == "CN=kube-client-signer"
        assert body["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:6443"
        key = parse_key(base64.b64decode(body["users"][0]["user"]["client-key-data"]).decode())
        assert key is not None
        assert key.public_key() == certificate.public_key()


def test_whom_the_api_calls() -> None:
    master, worker = files_of(WITH_WORKER, WITH_WORKER.first), files_of(WITH_WORKER, WITH_WORKER.members[3])
    verify_server(chain(worker, "kubelet.crt")[0], chain(master, "kubelet-ca.crt"), "192.0.2.13")
    client = chain(master, "apiserver-kubelet-client.crt")[0]
    assert signed_by(client, chain(worker, "kubelet-client-ca.crt")) == "CN=kube-client-signer"
    # An administrator's certificate opens no kubelet.
    assert len(chain(worker, "kubelet-client-ca.crt")) == 1


def test_etcd_is_for_its_members() -> None:
    """The API of a host is let in by a socket of its own."""
    files = files_of(THREE, THREE.first)
    trusted = chain(files, "etcd/ca.crt")
    assert signed_by(chain(files, "etcd/member.crt")[0], trusted) == "CN=etcd-signer"
    for name in ("apiserver.crt", "apiserver-kubelet-client.crt", "front-proxy-client.crt", "kubelet.crt"):
        assert signed_by(chain(files, name)[0], trusted) == ""


@pytest.mark.parametrize("role", list(Role))
def test_a_host_has_what_its_role_needs(role: Role) -> None:
    whole = {Role.MASTER: THREE, Role.ARBITER: ARBITER, Role.WORKER: WITH_WORKER}[role]
    host = next(member for member in reversed(whole.members) if member.role is role)
    names = {path.removeprefix("/etc/kubernetes/") for path in files_of(whole, host)}
    every = {
        "kubelet.conf",
        "kube-proxy.conf",
        "pki/api-ca.crt",
        "pki/kubelet-client-ca.crt",
        "pki/kubelet.crt",
        "pki/kubelet.key",
    }
    voter = {"pki/etcd/ca.crt", "pki/etcd/member.crt", "pki/etcd/member.key"}
    if role is Role.WORKER:
        assert names == every
    elif role is Role.ARBITER:
        assert names == every | voter
    else:
        assert every | voter < names
        assert "setup/kubeconfig" not in names


@pytest.mark.parametrize("name", CLUSTERS)
def test_keys_of_authorities_stay_where_they_are(name: str) -> None:
    made = authorities()
    signing = {
        public_pem(each.key.public_key())
        for each in (made.client, made.kubelet, made.etcd, made.front_proxy, made.site.serving)
    }
    pki = build_pki(fixed_secrets())
    signing |= {public_pem(each.key.public_key()) for each in (pki.admin, pki.localhost, pki.service_network)}
    whole = CLUSTERS[name]
    for host in whole.members:
        found = []
        for path, data in files_of(whole, host).items():
            key = parse_key(data.decode())
            if key is not None and public_pem(key.public_key()) in signing:
                found.append(path)
        assert found == [], host.name


def test_secrets_are_secret() -> None:
    for file in node_certificates(authorities(), THREE, THREE.first, seeded("hosts")):
        private = any(mark in file.data for mark in (b"PRIVATE KEY", b"client-key-data", b"secretbox"))
        assert file.mode == (SECRET if private else PUBLIC), file.path
    assert "PRIVATE" not in repr(authorities())
    assert repr(authorities().secrets_key) not in repr(authorities())


def test_times() -> None:
    """A clock that is an hour behind finds nothing wrong; nothing outlives its authority."""
    files = files_of(THREE, THREE.first)
    for path, data in files.items():
        if path.endswith(".crt") and "-ca" not in path and not path.endswith("ca.crt"):
            certificate = x509.load_pem_x509_certificate(data)
            assert certificate.not_valid_before_utc == NOW - timedelta(hours=1)
            assert certificate.not_valid_after_utc > NOW + timedelta(days=3600)
    served = chain(files, "apiserver.crt")[0]
    assert served.not_valid_after_utc <= chain(files, "api-ca.crt")[-1].not_valid_after_utc
    _, setup = login(files, "setup/kubeconfig")
    assert setup.not_valid_after_utc < NOW + timedelta(days=8)


def test_each_host_has_keys_of_its_own() -> None:
    random = seeded("hosts")
    made = [node_certificates(authorities(), THREE, host, random) for host in THREE.members]
    keys = [
        file.data
        for files in made
        for file in files
        if file.path.endswith(".key") and "service-account" not in file.path
    ]
    assert len({*keys}) == len(keys) > 3
    shared = [file.data for files in made for file in files if file.path.endswith("service-account.key")]
    assert len({*shared}) == 1


def test_a_long_name() -> None:
    """Longer than what the standard wants of a common name; Kubernetes has no other way."""
    long = cluster({f"host-{'x' * 55}": Role.MASTER})
    files = files_of(long, long.first)
    _, certificate = login(files, "kubelet.conf")
    with pytest.warns(UserWarning, match="length must be"):
        subject = certificate.subject.rfc4514_string()
    assert subject == f"CN=system:node:{long.first.name},O=system:nodes"
