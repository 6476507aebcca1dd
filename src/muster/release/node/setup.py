# SPDX-License-Identifier: Apache-2.0
"""What is done once for a cluster, by its first control-plane host: permissions, names, roles, add-ons."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from muster.model.ignition import PUBLIC, Config, File, Unit
from muster.model.meeting import PLATFORM
from muster.model.setting_up import PLAN_FILE, Part, Ready, SetupPlan
from muster.release.model import AddOn, ConditionKind, Release
from muster.release.node.certificates import SETUP
from muster.release.node.cluster import Cluster, Member
from muster.release.node.templates import fill, load_template
from muster.release.node.tuning import Tuning

_MANIFESTS: Final = ("permissions.yaml", "kubelet-authority.yaml", "coredns.yaml", "pod-security.yaml")
_OWN_READY: Final = (Ready(ConditionKind.DEPLOYMENT_AVAILABLE, "coredns", "kube-system"),)
_UNIT: Final = "muster-cluster-setup.service"


def setup(release: Release, cluster: Cluster, host: Member, tuning: Tuning, kubelet_authority: str) -> Config:
    """Nothing on any other host."""
    if host != cluster.first:
        return Config()
    values = _values(release, cluster, host, kubelet_authority)
    own = {
        f"00-{number}-{name}": fill(load_template(f"manifests/{name}"), values)
        for number, name in enumerate(_MANIFESTS)
    }
    # One folder has them all, and none below it.
    user = {
        f"50-{number:03}-{name.replace('/', '-')}": text
        for number, (name, text) in enumerate(cluster.manifests)
    }
    add_ons = {
        each.id: {f"{60 + number}-{each.id}-{manifest.name}": manifest.text for manifest in each.manifests}
        for number, each in enumerate(in_order(release, cluster.add_ons))
    }
    plan = SetupPlan(
        nodes={member.name: tuning.roles[member.role].label for member in cluster.members},
        own=Part(PLATFORM, tuple(own), _OWN_READY),
        manifests=tuple(user),
        add_ons=tuple(_part(each, add_ons[each.id]) for each in in_order(release, cluster.add_ons)),
    )
    texts = {**own, **user, **{name: text for files in add_ons.values() for name, text in files.items()}}
    files = (
        File(PLAN_FILE, msgspec.json.encode(plan), PUBLIC),
        *(File(f"{SETUP}/manifests/{name}", text.encode()) for name, text in texts.items()),
    )
    return Config(files, (Unit(_UNIT, fill(load_template(f"units/{_UNIT}"), values)),))


def in_order(release: Release, ids: Iterable[str]) -> tuple[AddOn, ...]:
    """The add-ons of these ids, as they are given, but each after those that it needs."""
    found: dict[str, AddOn] = {}
    wanted = [add_on for id in ids if (add_on := release.find_add_on(id)) is not None]

    def visit(add_on: AddOn, path: tuple[str, ...]) -> None:
        for other in wanted:
            if other.id in add_on.dependencies and other.id not in path:
                visit(other, (*path, other.id))
        found.setdefault(add_on.id, add_on)

    for add_on in wanted:
        visit(add_on, (add_on.id,))
    return tuple(found.values())


def _part(add_on: AddOn, files: Mapping[str, str]) -> Part:
    ready = tuple(Ready(each.kind, each.name, each.namespace) for each in add_on.ready)
    return Part(add_on.id, tuple(files), ready)


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
