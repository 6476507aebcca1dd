# SPDX-License-Identifier: Apache-2.0
"""What the verdicts mean for what happens next: groups of validations that have to pass for a step.

is_fit("min_hardware", host.verdicts, ignored=cluster.ignored_host_validations)
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Final, Literal, TypeAlias

from muster.service.state import Host, Verdict
from muster.service.validations import operators
from muster.service.validations.host_disks import speed_of_disk
from muster.service.validations.host_network import is_available
from muster.service.validations.registry import CLUSTER, HOST, Of
from muster.service.validations.run import validations

HostGroup: TypeAlias = Literal["min_hardware", "required_input", "sufficient", "prepare", "pool", "reachable"]
ClusterGroup: TypeAlias = Literal["required_input", "sufficient"]
Known: TypeAlias = Literal["good", "bad", "unknown"]

PASSING: Final = frozenset({"success", "disabled", "suppressed"})
ALL: Final = "all"

MIN_HARDWARE: Final = frozenset(
    {
        "has-min-valid-disks",
        "has-min-cpu-cores",
        "has-min-memory",
        "compatible-with-cluster-platform",
        "disk-encryption-requirements-satisfied",
    }
)
HOST_INPUT: Final = frozenset({"machine-cidr-defined"})
POOL: Final = frozenset({"has-min-valid-disks", "has-min-cpu-cores", "has-min-memory", "hostname-valid"})
REACHABLE: Final = frozenset({"connected", "media-connected"})
PREPARE: Final = frozenset({"sufficient-installation-disk-speed", "container-images-available"})
CLUSTER_INPUT: Final = frozenset(
    {
        "machine-cidr-defined",
        "cluster-cidr-defined",
        "service-cidr-defined",
        "dns-domain-defined",
        "pull-secret-set",
    }
)
VIPS: Final = frozenset({"api-vips-defined", "ingress-vips-defined"})
"""Input too, unless DHCP gives them."""


@cache
def _members(of: Of, group: str, version: int) -> frozenset[str]:  # noqa: ARG001  # what the cache goes by
    if of == "cluster":
        named = {"required_input": CLUSTER_INPUT, "required_input_with_vips": CLUSTER_INPUT | VIPS}
    else:
        named = {
            "min_hardware": MIN_HARDWARE,
            "required_input": HOST_INPUT,
            "prepare": PREPARE,
            "pool": POOL,
            "reachable": REACHABLE,
        }
    if group in named:
        return named[group]
    assert group == "sufficient", group
    apart = CLUSTER_INPUT if of == "cluster" else MIN_HARDWARE | HOST_INPUT
    return frozenset(each.id for each in validations(of) if each.id not in apart and not each.advisory)


def members(group: HostGroup) -> frozenset[str]:
    """The validations of a group of hosts'."""
    return _members("host", group, operators.version())


def cluster_members(group: ClusterGroup, *, vips: bool = True) -> frozenset[str]:
    """The validations of a group of clusters'; the virtual addresses are input unless DHCP gives them."""
    name = "required_input_with_vips" if group == "required_input" and vips else group
    return _members("cluster", name, operators.version())


def is_fit(group: HostGroup, verdicts: Collection[Verdict], ignored: Collection[str] = ()) -> bool:
    """Whether a host passes a group. What is not known passes as little as what is wrong."""
    return not blocking(members(group), verdicts, ignored, "host")


def is_cluster_fit(
    group: ClusterGroup, verdicts: Collection[Verdict], ignored: Collection[str] = (), *, vips: bool = True
) -> bool:
    """Whether a cluster passes a group."""
    return not blocking(cluster_members(group, vips=vips), verdicts, ignored, "cluster")


def blocking(
    ids: Collection[str], verdicts: Collection[Verdict], ignored: Collection[str] = (), of: Of = "host"
) -> tuple[Verdict, ...]:
    """Those of the validations that stand in the way, with what they say."""
    known = HOST if of == "host" else CLUSTER
    found = [
        verdict
        for verdict in verdicts
        if verdict.status not in PASSING
        and verdict.id in ids
        and not _is_ignored(verdict.id, ignored, ignorable=known[verdict.id].ignorable)
    ]
    if len(verdicts) == len(known):
        return tuple(found)
    silent = sorted(set(ids) - {verdict.id for verdict in verdicts})
    return (*found, *(Verdict(id=id, status="pending", message="not judged yet") for id in silent))


def _is_ignored(id: str, ignored: Collection[str], *, ignorable: bool) -> bool:
    return ignorable and (id in ignored or ALL in ignored)


# What the preparation of an installation waits for: here it counts whether something was tried at all.


def is_prepared(host: Host, ignored: Collection[str] = ()) -> bool:
    """Whether what is tried before an installation came out well; what was not tried yet did not."""
    tried = {"sufficient-installation-disk-speed": disk_speed, "container-images-available": images}
    return all(
        found(host) == "good" or _is_ignored(id, ignored, ignorable=HOST[id].ignorable)
        for id, found in tried.items()
    )


def disk_speed(host: Host) -> Known:
    """Whether the disk to install on was measured, and what came out; some must not be."""
    speed = speed_of_disk(host)
    if speed is not None and speed.tested:
        return "good" if speed.exit_code == 0 else "bad"
    return "good" if is_disk_spared(host) else "unknown"


def is_disk_spared(host: Host) -> bool:
    """Whether measuring would destroy something: the system runs from the disk, or parts of it are kept."""
    boot = host.inventory.boot if host.inventory is not None else None
    return (boot is not None and boot.device_type == "persistent") or "--save-part" in host.installer_args


def images(host: Host) -> Known:
    """Whether images were pulled, and what came out."""
    if any(not is_available(image) for image in host.images):
        return "bad"
    return "good" if host.images and all(image.result for image in host.images) else "unknown"
