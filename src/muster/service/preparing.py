# SPDX-License-Identifier: Apache-2.0
"""Makes the files of clusters whose installation was asked for, and goes on with it after a restart."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final

from cryptography.hazmat.primitives.serialization import Encoding

from muster.certificates.parse import parse_certificates
from muster.errors import MusterError
from muster.model.wire.cluster import LastInstallationPreparation
from muster.service.decisions.manifests import document_name
from muster.service.realm import Draft
from muster.service.refusals import BadRequest, NotFound, StateConflict, Unavailable
from muster.service.release_driver import ClusterOrder
from muster.service.state import Cluster
from muster.service.store.port import StoreError

if TYPE_CHECKING:
    from muster.service.service import Service

_AGAIN_S: Final = 5.0
"""When the store was away, so long until it is tried again."""
SECRET_FILES: Final = frozenset({"kubeadmin-password", "kubeconfig", "kubeconfig-noingress", "secrets.json"})
INGRESS_FILE: Final = "ingress-ca.crt"
_MOST_CERTIFICATES: Final = 64 << 10
_MOST_NAMES: Final = 8
_STAND_IN_S: Final = 10.0


def order_of(
    service: Service, cluster_id: str, *, with_secrets: bool, with_manifests: bool = True
) -> ClusterOrder:
    """What a cluster is to be made of; StateConflict when the content of a manifest is missing."""
    realm = service.engine.realm_of("cluster", cluster_id)
    cluster = realm.cluster
    assert cluster is not None
    manifests = _read_manifests(service, realm.id, cluster) if with_manifests else {}
    secret = kept = ""
    if with_secrets:
        secret = cluster.pull_secret and service.around.vault.open(
            cluster.id, "pull_secret", cluster.pull_secret
        )
        sealed = service.store.document(realm.id, cluster.id, "file/secrets.json")
        kept = service.around.vault.open(cluster.id, "secrets.json", sealed.decode()) if sealed else ""
    hosts = tuple(realm.hosts.values())
    rendezvous = service.around.house.find_rendezvous(hosts)
    return ClusterOrder(cluster, hosts, secret, manifests, kept, rendezvous)


def _read_manifests(service: Service, realm: str, cluster: Cluster) -> dict[str, bytes]:
    found = {key: service.store.document(realm, cluster.id, document_name(key)) for key in cluster.manifests}
    if missing := [key for key, body in found.items() if body is None]:
        more = f" and {len(missing) - _MOST_NAMES} more" if len(missing) > _MOST_NAMES else ""
        raise StateConflict(
            f"the database has no content of manifest {', '.join(missing[:_MOST_NAMES])}{more}"
            f" of cluster {cluster.name}",
            hint="add the manifest again, or delete it from the cluster; then start the installation again",
        )
    return {key: body for key, body in found.items() if body is not None}


def _is_open(cluster: Cluster) -> bool:
    """Whether the files of a cluster are still to be made."""
    return cluster.status == "preparing-for-installation" and cluster.preparation.status == "not_started"


class Preparer:
    """Prepares one cluster at a time for each that wants it."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._under_way: set[str] = set()

    def look(self, cluster_id: str, *, elsewhere: bool = False) -> None:
        """Begin, if this cluster wants to be prepared and nobody does it yet.

        What was decided elsewhere is prepared there; only if that takes long it is done here, too.
        """
        if elsewhere:
            self._service.around.background.later(_STAND_IN_S, lambda: self.look(cluster_id))
        elif cluster_id not in self._under_way and self._wants(cluster_id):
            self._under_way.add(cluster_id)
            self._service.around.background.start(self._run(cluster_id))

    def _wants(self, cluster_id: str) -> bool:
        try:
            return _is_open(self._service.engine.cluster(cluster_id))
        except NotFound:
            return False

    def look_at_all(self) -> None:
        """Go on with what was under way when the service ended."""
        for cluster in self._service.engine.clusters():
            self.look(cluster.id)

    async def _run(self, cluster_id: str) -> None:
        try:
            await self._prepare(cluster_id)
        except Unavailable:
            self._service.around.background.later(_AGAIN_S, lambda: self.look(cluster_id))
            return
        except NotFound:
            return  # The cluster is gone.
        finally:
            self._under_way.discard(cluster_id)
        self.look(cluster_id)  # It may have been cancelled and begun again meanwhile.

    async def _prepare(self, cluster_id: str) -> None:
        service = self._service
        files: dict[str, bytes] = {}
        began = service.engine.cluster(cluster_id).install_started_at
        # Manifests are in memory before they are in the store.
        await service.settle(service.engine.realm_of("cluster", cluster_id).id)
        try:
            order = order_of(service, cluster_id, with_secrets=True)
            files.update(
                await service.around.background.compute(lambda: service.around.driver.prepare(order))
            )
            done = LastInstallationPreparation(status="success", reason="the cluster's files are made")
        except StoreError as error:
            raise Unavailable(error.message, hint=error.hint) from error
        except MusterError as error:
            reason = f"{error.message}; {error.hint}" if error.hint else error.message
            done = LastInstallationPreparation(status="failed", reason=reason)
        await service.change(
            lambda: service.engine.realm_of("cluster", cluster_id),
            lambda draft: self._keep(draft, files, done, began),
        )

    def _keep(
        self,
        draft: Draft,
        files: dict[str, bytes],
        done: LastInstallationPreparation,
        began: datetime | None,
    ) -> None:
        cluster = draft.cluster
        if not _is_open(cluster) or cluster.install_started_at != began:
            return  # It was cancelled meanwhile, or somebody else was quicker.
        for name, body in files.items():
            content = body
            if name in SECRET_FILES:
                content = self._service.around.vault.seal(cluster.id, name, body.decode()).encode()
            draft.documents[cluster.id, f"file/{name}"] = content
        draft.change(cluster, preparation=done)
        if done.status == "failed":
            draft.tell(
                cluster,
                "prepare_installation_failed",
                f"The files of cluster {cluster.name} could not be made: {done.reason}",
                severity="warning",
            )

    async def close(self) -> None:
        """Leave it; it is begun again with the next start."""
        await self._service.around.background.end()


def keep_ingress(service: Service, draft: Draft, certificates: str) -> None:
    """Keep the authority of the cluster's applications in a file of its own, and complete the kubeconfig.

    It does not go into the kubeconfig: what is there is trusted for the API, too.
    """
    cluster = draft.cluster
    name = "kubeconfig-noingress"
    sealed = service.store.document(draft.realm.id, cluster.id, f"file/{name}")
    if sealed is None:
        raise StateConflict(f"cluster {cluster.name} has no kubeconfig yet", hint="install it first")
    text = service.around.vault.open(cluster.id, name, sealed.decode())
    made = service.around.vault.seal(cluster.id, "kubeconfig", text)
    draft.documents[cluster.id, "file/kubeconfig"] = made.encode()
    draft.documents[cluster.id, f"file/{INGRESS_FILE}"] = certificates.encode()
    draft.change(cluster, kubeconfig=True)


def parse_authorities(text: str) -> str:
    """Certificates in PEM, and nothing else; a BadRequest when they are none."""
    hint = "send certificates in PEM, in a JSON string"
    if len(text) > _MOST_CERTIFICATES:
        raise BadRequest(f"the certificates are longer than {_MOST_CERTIFICATES} characters", hint=hint)
    try:
        found = parse_certificates(text.encode())
    except ValueError:
        raise BadRequest("the body is not a certificate", hint=hint) from None
    return "".join(each.public_bytes(Encoding.PEM).decode("ascii") for each in found)
