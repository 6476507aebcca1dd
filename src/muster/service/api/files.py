# SPDX-License-Identifier: Apache-2.0
"""Answers with files of a cluster: its configuration, credentials, Ignition configs and logs."""

from __future__ import annotations

from datetime import timedelta
from typing import Final
from urllib.parse import urlencode

from muster.model.wire.infra_env import PresignedUrl
from muster.service.api.call import Call, Reply, answers, empty, file, reply
from muster.service.api.clusters import change, cluster_of
from muster.service.api.views.files import show_credentials
from muster.service.auth.personas import Persona
from muster.service.credentials import KUBECONFIG, PASSWORD, domain_of, make_credentials, note_taken
from muster.service.decisions import checks
from muster.service.decisions.clusters import override_install_config
from muster.service.preparing import INGRESS_FILE, SECRET_FILES, order_of
from muster.service.refusals import BadRequest, NotFound, StateConflict
from muster.service.state import Cluster

_FILES: Final = frozenset(
    {
        *("bootstrap.ign", "master.ign", "worker.ign", "arbiter.ign", "metadata.json", "install-config.yaml"),
        *("custom_manifests.json", "custom_manifests.yaml", INGRESS_FILE),
    }
)
_CREDENTIALS: Final = frozenset({"kubeadmin-password", "kubeconfig", "kubeconfig-noingress"})
_LINK_LASTS: Final = timedelta(minutes=10)


@answers("v2GetClusterInstallConfig")
async def get_install_config(call: Call) -> Reply:
    cluster = cluster_of(call)
    order = order_of(call.service, cluster.id, with_secrets=False, with_manifests=False)
    return reply(call.service.around.driver.install_config(order))


@answers("v2UpdateClusterInstallConfig")
async def update_install_config(call: Call) -> Reply:
    text = checks.json_object("the install config override", call.decode(str))
    await change(call, lambda draft: override_install_config(draft, text, call.service.around.driver.kind))
    return empty(201)


@answers("V2DownloadClusterFiles")
async def download_file(call: Call) -> Reply:
    return _file(call, cluster_of(call), _wanted(call, _FILES))


@answers("V2DownloadClusterCredentials")
async def download_credentials(call: Call) -> Reply:
    name = _wanted(call, _CREDENTIALS)
    is_person = call.grant is not None and call.grant.persona is Persona.USER
    if is_person:
        await make_credentials(call.service, call.ids["cluster_id"])
    cluster = cluster_of(call)
    source = name
    if name == "kubeconfig" and not credential(call, cluster, name):
        source = KUBECONFIG
    found = _file(call, cluster, source)
    if is_person:
        taken = PASSWORD if name == PASSWORD else KUBECONFIG
        await change(call, lambda draft: note_taken(draft, domain_of(cluster), taken))
    return file(found.body, name)  # type: ignore[arg-type]


@answers("V2GetCredentials")
async def get_credentials(call: Call) -> Reply:
    await make_credentials(call.service, call.ids["cluster_id"])
    cluster = cluster_of(call)
    password = credential(call, cluster, PASSWORD)
    if not password:
        raise StateConflict(
            f"cluster {cluster.name} has no credentials yet: it is {cluster.status}",
            hint="they are made when somebody asks for them, or when its installation begins",
        )
    return reply(show_credentials(cluster, "kubeadmin", password.decode().strip()))


@answers("V2GetPresignedForClusterFiles")
async def presigned_file(call: Call) -> Reply:
    name, cluster = _wanted(call, _FILES | {"logs", "manifests"}), cluster_of(call)
    if name == "logs":
        query = {each: call.query[each] for each in ("logs_type", "host_id") if call.query.get(each)}
        return _link(call, cluster, "logs", query)
    if name == "manifests":
        return _link(call, cluster, "manifests/files", _manifest(call, cluster))
    return _link(call, cluster, "downloads/files", {"file_name": name})


def _manifest(call: Call, cluster: Cluster) -> dict[str, str]:
    """The manifest that is meant, with or without its folder."""
    wanted = call.query.get("additional_name", "")
    for key in cluster.manifests:
        folder, _, name = key.partition("/")
        if wanted in (key, name):
            return {"folder": folder, "file_name": name}
    raise NotFound(f"cluster {cluster.name} has no manifest {wanted}", hint="name it with additional_name")


@answers("V2GetPresignedForClusterCredentials")
async def presigned_credentials(call: Call) -> Reply:
    query = {"file_name": _wanted(call, _CREDENTIALS)}
    return _link(call, cluster_of(call), "downloads/credentials", query)


def _link(call: Call, cluster: Cluster, tail: str, query: dict[str, str]) -> Reply:
    expires = call.service.now() + _LINK_LASTS
    path = f"/api/assisted-install/v2/clusters/{cluster.id}/{tail}"
    if query:
        path = f"{path}?{urlencode(query)}"
    return reply(
        PresignedUrl(
            url=call.service.around.links.sign(path, expires, cluster_id=cluster.id), expires_at=expires
        )
    )


@answers("v2DownloadHostIgnition")
async def download_host_ignition(call: Call) -> Reply:
    host = call.service.engine.host(call.ids["host_id"], call.ids["infra_env_id"])
    if host.cluster_id is None:
        raise StateConflict(f"host {host.id} is in no cluster", hint="bind it first")
    return _file(call, call.service.engine.cluster(host.cluster_id), f"host/{host.id}.ign")


def _wanted(call: Call, known: frozenset[str]) -> str:
    name = call.query.get("file_name", "")
    if name not in known:
        raise BadRequest(f"file_name: {name!r} is none", hint=f"ask for {', '.join(sorted(known))}")
    return name


def credential(call: Call, cluster: Cluster, name: str) -> bytes | None:
    """A file of a cluster, opened if it is sealed; None when there is none."""
    body = call.service.store.document(cluster.id, cluster.id, f"file/{name}")
    if body is not None and name in SECRET_FILES:
        return call.service.around.vault.open(cluster.id, name, body.decode()).encode()
    return body


def _file(call: Call, cluster: Cluster, name: str) -> Reply:
    body = credential(call, cluster, name)
    if body is None:
        raise NotFound(
            f"cluster {cluster.name} has no {name} yet: it is {cluster.status}",
            hint="its files are made when its installation begins",
        )
    return file(body, name.rsplit("/", 1)[-1])
