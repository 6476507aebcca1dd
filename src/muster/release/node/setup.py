# SPDX-License-Identifier: Apache-2.0
"""What is done once for a cluster, by its first control-plane host: permissions, name server, roles."""

from __future__ import annotations

from muster.model.ignition import PROGRAM, PUBLIC, Config, File, Unit
from muster.release.node.certificates import SETUP
from muster.release.node.cluster import Cluster, Member, NodeRelease
from muster.release.node.templates import fill, load_template
from muster.release.node.tuning import Tuning


def setup(release: NodeRelease, cluster: Cluster, host: Member, tuning: Tuning) -> Config:
    """Nothing on any other host."""
    if host != cluster.first:
        return Config()
    values = _values(release, cluster, host)
    roles = "".join(f"{member.name} {tuning.roles[member.role].label}\n" for member in cluster.members)
    return Config(
        (
            File(f"{SETUP}/nodes", roles.encode(), PUBLIC),
            *(
                File(
                    f"{SETUP}/manifests/{name}",
                    fill(load_template(f"manifests/{name}"), values).encode(),
                    PUBLIC,
                )
                for name in ("permissions.yaml", "coredns.yaml")
            ),
            File(
                "/usr/local/bin/muster-cluster-setup",
                load_template("scripts/cluster-setup.sh").encode(),
                PROGRAM,
            ),
        ),
        (
            Unit(
                "muster-cluster-setup.service",
                fill(load_template("units/muster-cluster-setup.service"), values),
            ),
        ),
    )


def _values(release: NodeRelease, cluster: Cluster, host: Member) -> dict[str, str]:
    addresses = [str(address) for address in cluster.dns_addresses]
    return {
        "server": cluster.server_for(host),
        "coredns_image": release.coredns,
        "dns_domain": cluster.dns_domain,
        "dns_address": addresses[0],
        "dns_addresses": ", ".join(f'"{address}"' for address in addresses),
        "family_policy": "RequireDualStack" if len(addresses) > 1 else "SingleStack",
        "dns_replicas": str(min(2, len(cluster.members))),
    }
