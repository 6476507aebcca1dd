# SPDX-License-Identifier: Apache-2.0
"""auth/kubeconfig → where the cluster's API is, whom to believe that it is it, and who is calling."""

from __future__ import annotations

import ssl
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from urllib.parse import urlsplit

import msgspec

from muster.certificates.kubeconfig import Access
from muster.errors import UserError, cannot

_HINT: Final = (
    "bring back the file that `muster agent create image` wrote; when it is moved away, it is written again"
)


class _ClusterPart(msgspec.Struct):
    server: str
    authority: bytes = msgspec.field(name="certificate-authority-data")


class _UserPart(msgspec.Struct):
    certificate: bytes = msgspec.field(name="client-certificate-data")
    key: bytes = msgspec.field(name="client-key-data")


class _ContextPart(msgspec.Struct):
    cluster: str
    user: str


class _Cluster(msgspec.Struct):
    name: str
    cluster: _ClusterPart


class _User(msgspec.Struct):
    name: str
    user: _UserPart


class _Context(msgspec.Struct):
    name: str
    context: _ContextPart


class _File(msgspec.Struct, rename="kebab"):
    clusters: tuple[_Cluster, ...]
    users: tuple[_User, ...]
    contexts: tuple[_Context, ...]
    current_context: str


def load_access(path: Path) -> Access:
    """What a kubeconfig says of its current context."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise cannot("read", path, error) from error
    try:
        return parse_access(text)
    except (msgspec.DecodeError, LookupError, ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be used: {error}", hint=_HINT) from error


def parse_access(text: bytes) -> Access:
    """The way to the cluster of the current context; a LookupError or ValueError when there is none."""
    found = msgspec.yaml.decode(text, type=_File)
    contexts = {each.name: each.context for each in found.contexts}
    if found.current_context not in contexts:
        raise LookupError(f"its current-context {found.current_context!r} is not in it")
    context = contexts[found.current_context]
    clusters = {each.name: each.cluster for each in found.clusters}
    users = {each.name: each.user for each in found.users}
    if context.cluster not in clusters or context.user not in users:
        raise LookupError("its context names a cluster or user that is not in it")
    cluster, user = clusters[context.cluster], users[context.user]
    if urlsplit(cluster.server).scheme != "https" or not urlsplit(cluster.server).hostname:
        raise ValueError("its server is no https:// address")
    return Access(
        cluster=context.cluster,
        server=cluster.server.rstrip("/"),
        bundle=cluster.authority.decode("ascii"),
        user=context.user,
        certificate=user.certificate.decode("ascii"),
        key=user.key.decode("ascii"),
    )


def make_client_context(access: Access) -> ssl.SSLContext:
    """How TLS is spoken with the API: it is verified, and so are we."""
    try:
        context = ssl.create_default_context(cadata=access.bundle)
        with TemporaryDirectory() as folder:  # The library reads certificates from files only.
            path = Path(folder) / "client.pem"
            path.touch(mode=0o600)
            path.write_text(access.certificate + access.key, "ascii")
            context.load_cert_chain(path)
    except (ssl.SSLError, ValueError) as error:
        raise UserError(f"the certificates of the kubeconfig cannot be used: {error}", hint=_HINT) from error
    return context
