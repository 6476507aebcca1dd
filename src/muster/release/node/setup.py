# SPDX-License-Identifier: Apache-2.0
"""What is done once for a cluster, by its first control-plane host: permissions, names, roles, add-ons."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from muster.model.ignition import PROGRAM, PUBLIC, Config, File, Unit
from muster.release.model import Release
from muster.release.node.certificates import SETUP
from muster.release.node.cluster import Cluster, Member
from muster.release.node.templates import fill, load_template
from muster.release.node.tuning import Tuning

_MANIFESTS: Final = ("permissions.yaml", "kubelet-authority.yaml", "coredns.yaml")
_UNIT: Final = "muster-cluster-setup.service"


def setup(release: Release, cluster: Cluster, host: Member, tuning: Tuning, kubelet_authority: str) -> Config:
    """Nothing on any other host."""
    if host != cluster.first:
        return Config()
    values = _values(release, cluster, host, kubelet_authority)
    roles = "".join(f"{member.name} {tuning.roles[member.role].label}\n" for member in cluster.members)
    program = load_template("scripts/cluster-setup.sh")
    files = [
        File(f"{SETUP}/nodes", roles.encode(), PUBLIC),
        File("/usr/local/bin/muster-cluster-setup", program.encode(), PROGRAM),
        *(
            File(f"{SETUP}/manifests/{name}", text.encode(), PUBLIC)
            for name, text in _manifests(release, cluster, values)
        ),
    ]
    return Config(tuple(files), (Unit(_UNIT, fill(load_template(f"units/{_UNIT}"), values)),))


def _manifests(release: Release, cluster: Cluster, values: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Manifests by file name, in the order in which they are applied: ours, those of add-ons, the user's."""
    for number, name in enumerate(_MANIFESTS):
        yield f"00-{number}-{name}", fill(load_template(f"manifests/{name}"), values)
    for number, id in enumerate(cluster.add_ons, start=1):
        add_on = release.find_add_on(id)
        for manifest in add_on.manifests if add_on else ():
            yield f"{number:02}-{id}-{manifest.name}", manifest.text
    for number, (name, text) in enumerate(cluster.manifests):
        # kubectl looks into one folder, and not into those below it.
        yield f"90-{number:03}-{name.replace('/', '-')}", text


def _values(release: Release, cluster: Cluster, host: Member, kubelet_authority: str) -> dict[str, str]:
    addresses = [str(address) for address in cluster.dns_addresses]
    return {
        "server": cluster.server_for(host),
        "coredns_image": release.image("coredns").pullspec,
        "dns_domain": cluster.dns_domain,
        "dns_address": addresses[0],
        "dns_addresses": ", ".join(f'"{address}"' for address in addresses),
        "family_policy": "RequireDualStack" if len(addresses) > 1 else "SingleStack",
        "dns_replicas": str(min(2, len(cluster.members))),
        "kubelet_authority": json.dumps(kubelet_authority),
    }
