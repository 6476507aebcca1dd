# SPDX-License-Identifier: Apache-2.0
"""Whether a cluster was given what cannot be guessed: domain, pull secret, what its platform asks for."""

from __future__ import annotations

from muster.service.validations.facts import is_oracle_cloud
from muster.service.validations.registry import Answer, ClusterView, Reads, failed, on_cluster, passed


@on_cluster("dns-domain-defined", "network", Reads(cluster={"base_dns_domain"}))
def dns_domain_defined(see: ClusterView) -> Answer:
    return passed() if see.cluster.base_dns_domain else failed()


@on_cluster("pull-secret-set", "configuration", Reads(cluster={"pull_secret"}), must=True)
def pull_secret_set(see: ClusterView) -> Answer:
    return passed() if see.cluster.pull_secret else failed()


@on_cluster(
    "platform-requirements-satisfied",
    "configuration",
    Reads(cluster={"platform", "manifests"}),
    advisory=True,
)
def platform_requirements_satisfied(see: ClusterView) -> Answer:
    if not is_oracle_cloud(see.cluster.platform):
        return passed("needless")
    return passed() if see.cluster.manifests else failed()
