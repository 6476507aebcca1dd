# SPDX-License-Identifier: Apache-2.0
"""What a cluster is used with, made when somebody asks for it: people take it along before they install.

Keys and password are made once; the kubeconfig is written anew when the cluster is called otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from muster.service.preparing import SECRET_FILES, order_of
from muster.service.realm import Draft
from muster.service.refusals import StateConflict
from muster.service.state import Cluster
from muster.service.validations.requirements import product_of

if TYPE_CHECKING:
    from muster.service.service import Service

PASSWORD: Final = "kubeadmin-password"  # noqa: S105 - the name of a file
KUBECONFIG: Final = "kubeconfig-noingress"
_BEFORE: Final = frozenset({"insufficient", "pending-for-input", "ready"})


def domain_of(cluster: Cluster) -> str:
    """What a cluster is called in DNS."""
    return f"{cluster.name}.{cluster.base_dns_domain}"


def console_url_of(cluster: Cluster) -> str:
    """Where the console of a cluster is; OpenShift has one."""
    has_one = any(each.name == "console" for each in cluster.monitored_operators)
    if not has_one or not cluster.base_dns_domain or product_of(cluster.openshift_version) != "openshift":
        return ""
    return f"https://console-openshift-console.apps.{domain_of(cluster)}"


async def make_credentials(service: Service, cluster_id: str) -> None:
    """See to it that they are there, and for the name that the cluster has now."""
    cluster = service.engine.cluster(cluster_id)
    if cluster.kind != "Cluster" or cluster.kubeconfig_given or cluster.status not in _BEFORE:
        return
    if not cluster.base_dns_domain:
        raise StateConflict(
            f"cluster {cluster.name} has no domain yet, which its credentials name",
            hint="give it a base domain first",
        )
    domain = domain_of(cluster)
    if cluster.access_for == domain:
        return
    order = order_of(service, cluster_id, with_secrets=True, with_manifests=False)
    files = await service.around.background.compute(lambda: service.around.driver.credentials(order))
    await service.change(
        lambda: service.engine.realm_of("cluster", cluster_id),
        lambda draft: _keep(service, draft, files, (cluster.access_for, domain)),
    )


def _keep(service: Service, draft: Draft, files: Mapping[str, bytes], turn: tuple[str, str]) -> None:
    """Of two that ask at once the first is right: both get what that one made."""
    cluster = draft.cluster
    before, domain = turn
    if cluster.status not in _BEFORE or (cluster.access_for, domain_of(cluster)) != (before, domain):
        return
    for name, body in files.items():
        assert name in SECRET_FILES, name
        sealed = service.around.vault.seal(cluster.id, name, body.decode())
        draft.documents[cluster.id, f"file/{name}"] = sealed.encode()
    draft.change(cluster, access_for=domain)


def note_taken(draft: Draft, domain: str, *names: str) -> None:
    """Somebody has the kubeconfig for a domain, or the password."""
    cluster = draft.cluster
    had = [PASSWORD for each in cluster.access_taken if each == PASSWORD]
    configs = [each for each in cluster.access_taken if each != PASSWORD]
    if PASSWORD in names:
        had = [PASSWORD]
    if KUBECONFIG in names:
        configs = [domain]
    draft.change(cluster, access_taken=(*configs, *had))
