# SPDX-License-Identifier: Apache-2.0
"""A real Kubernetes API with a real etcd behind it, on a loopback address of its own."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

from cryptography.x509.oid import NameOID

from muster.certificates.issue import (
    CLIENT,
    SERVER,
    TEN_YEARS,
    Term,
    Wish,
    common_name,
    issue,
    make_authority,
    make_name,
    render_certificate,
)
from muster.certificates.keys import P256, make_key, public_pem, render_key
from muster.certificates.kubeconfig import Access, render_kubeconfig
from muster.model.voters import client_url
from muster.node.replacing import load_voters
from tests.component.etcd import Trio
from tests.seeds import NOW, seeded

TERM = Term("t", NOW, TEN_YEARS)
_MASTERS = (NameOID.ORGANIZATION_NAME, "system:masters"), (NameOID.COMMON_NAME, "admin")


class Pki:
    """An authority, what it gave to a server, and a kubeconfig of one who may do everything."""

    def __init__(self, folder: Path, *names: str) -> None:
        folder.mkdir()
        random = seeded(str(folder))
        self.folder = folder
        self._authority = make_authority(common_name("kube"), make_key(P256, random), TERM)
        self.bundle = self._authority.pem
        (folder / "ca.crt").write_text(self.bundle)
        server, self._client = make_key(P256, random), make_key(P256, random)
        wish = Wish(common_name("api"), server, (SERVER,), names)
        (folder / "server.crt").write_text(render_certificate(issue(self._authority, wish, TERM)))
        (folder / "server.key").write_text(render_key(server))
        (folder / "accounts.pub").write_text(public_pem(server.public_key()))

    def write_kubeconfig(self, path: Path, server: str, bundle: str = "") -> Path:
        wish = Wish(make_name(*_MASTERS), self._client, (CLIENT,))
        certificate = render_certificate(issue(self._authority, wish, TERM))
        bundle, key = bundle or self.bundle, render_key(self._client)
        path.write_text(render_kubeconfig(Access("c", server, bundle, "admin", certificate, key)))
        return path


class KubeApi:
    """The API; it is started and stopped as often as needed, as what it keeps is in etcd."""

    def __init__(self, folder: Path, kube: Path) -> None:
        self._log, self._trio = folder / "api.log", Trio(folder, kube, ("a",))
        self._program = folder / "programs/kube-apiserver"
        self._program.symlink_to(kube)
        self._member = self._trio.members["a"]
        self._address = load_voters(self._member.root).members["a"]
        with socket.create_server((self._address, 0)) as found:
            self._port: int = found.getsockname()[1]
        self.pki = Pki(folder / "pki", self._address)
        self.server = f"https://{self._address}:{self._port}"
        self.kubeconfig = self.pki.write_kubeconfig(folder / "kubeconfig", self.server)
        self._process: subprocess.Popen[bytes] | None = None

    def start_etcd(self) -> None:
        self._member.start()
        self._trio.wait_until_healthy("a")

    def start(self) -> None:
        pki, etcd = self.pki.folder, self._member.root / "etc/kubernetes/pki/etcd"
        argv = [
            str(self._program),
            f"--bind-address={self._address}",
            f"--advertise-address={self._address}",
            "--endpoint-reconciler-type=none",
            f"--secure-port={self._port}",
            f"--etcd-servers={client_url(self._address)}",
            f"--etcd-cafile={etcd}/ca.crt",
            f"--etcd-certfile={etcd}/member.crt",
            f"--etcd-keyfile={etcd}/member.key",
            f"--tls-cert-file={pki}/server.crt",
            f"--tls-private-key-file={pki}/server.key",
            f"--client-ca-file={pki}/ca.crt",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={pki}/accounts.pub",
            f"--service-account-signing-key-file={pki}/server.key",
            "--service-cluster-ip-range=172.30.0.0/16",
            "--authorization-mode=Node,RBAC",
            "--disable-admission-plugins=ServiceAccount",
        ]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(argv, stdout=log, stderr=log, cwd=self._log.parent)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def close(self) -> None:
        self.stop()
        self._trio.close()

    @property
    def log(self) -> str:
        return self._log.read_text()[-3000:]
