# SPDX-License-Identifier: Apache-2.0
"""Whether a cluster can be made as it is described: everything that its nodes would find out too late."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from muster.errors import UserError
from muster.model.values import name_fault
from muster.release.chosen import Fault, chosen_faults
from muster.release.model import Release
from muster.release.node.cluster import Cluster, room
from muster.release.node.images import IMAGES, KUBE

_LONGEST_NAME: Final = 63
_DNS_BITS: Final = 4
"""The name server has the tenth address of the services, and so their network at least sixteen."""


def check_cluster(release: Release, cluster: Cluster) -> None:
    """A UserError that tells the first thing that does not hold."""
    faults = (_member_faults(cluster), _network_faults(cluster), _vip_faults(cluster))
    for fault in (*chain.from_iterable(faults), *_release_faults(release, cluster)):
        raise UserError(
            f"the cluster {cluster.name} cannot be made from release {release.version}: {fault.what}",
            hint=fault.hint,
        )


def _member_faults(cluster: Cluster) -> Iterator[Fault]:
    if not cluster.control_plane:
        yield Fault("it has no control-plane host", "give at least one host the role master")
    for member in cluster.members:
        fault = _name_fault(member.name)
        if fault:
            yield Fault(
                f"{member.name!r} cannot be the name of a node: {fault}",
                "name hosts with lower-case letters, digits, - and .",
            )
    for name in _twice(member.name for member in cluster.members):
        yield Fault(f"two hosts are called {name}", "give every host a name of its own")
    for address in _twice(str(address) for member in cluster.members for address in member.addresses):
        yield Fault(f"two hosts have the address {address}", "give every host addresses of its own")


def _name_fault(name: str) -> str:
    fault = name_fault(name)
    # A label of the node has its name, and labels are shorter than names.
    if not fault and len(name) > _LONGEST_NAME:
        fault = f"it has {len(name)} characters, {_LONGEST_NAME} are allowed"
    return fault


def _network_faults(cluster: Cluster) -> Iterator[Fault]:
    families = [network.version for network in cluster.services]
    if len(families) not in (1, 2) or len({*families}) != len(families):
        yield Fault("it needs one network of services, or one of each family", "correct serviceNetwork")
    if [network.cidr.version for network in cluster.pods] != families:
        yield Fault(
            "its networks of pods and of services are not of the same families in the same order",
            "list one network of each family, in the same order, in clusterNetwork and serviceNetwork",
        )
    for member in cluster.members:
        if [address.version for address in member.addresses] != families:
            yield Fault(
                f"{member.name} has not one address of each family of the cluster, in the same order",
                "a host needs an IPv4 address, an IPv6 address, or both, as the networks of services say",
            )
    for network in cluster.services:
        if network.max_prefixlen - network.prefixlen < _DNS_BITS:
            yield Fault(f"the network of services {network} is too small", "it needs 16 addresses or more")
    for pods in cluster.pods:
        if room(pods) < len(cluster.members):
            yield Fault(
                f"{pods.cidr} has parts of length {pods.host_prefix} for {room(pods)} hosts, "
                f"there are {len(cluster.members)}",
                "take a larger network for pods, or a longer hostPrefix",
            )


def _vip_faults(cluster: Cluster) -> Iterator[Fault]:
    if not cluster.holds_vips:
        return
    families = {network.version for network in cluster.services}
    for kind, vips in (("apiVIPs", cluster.api_vips), ("ingressVIPs", cluster.ingress_vips)):
        versions = [vip.version for vip in vips]
        if len({*versions}) != len(versions) or not families.issuperset(versions):
            yield Fault(
                f"{kind} are {', '.join(map(str, vips))}, which is not one of each family of the cluster",
                "list at most one address of each family that the networks of services have",
            )
    own = [address for member in cluster.members for address in member.addresses]
    for address in _twice(str(each) for each in (*cluster.api_vips, *cluster.ingress_vips, *{*own})):
        yield Fault(
            f"the virtual address {address} is used twice",
            "take an address for it that no host has, and another one for the API than for ingress",
        )


def _release_faults(release: Release, cluster: Cluster) -> Iterator[Fault]:
    for id in IMAGES:
        if release.find_image(id) is None:
            yield Fault(f"the release has no image {id}", "take a release of kind kubernetes")
    if not any(component.program == KUBE for component in release.components):
        yield Fault(f"the release does not say what its program {KUBE} is", "build the release again")
    yield from chosen_faults(release.add_ons, cluster.add_ons)


def _twice(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]
