# SPDX-License-Identifier: Apache-2.0
"""What can be installed on top of a cluster: what each takes, and why one cannot be chosen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Final

from muster.model.wire.struct import Wire, about
from muster.release.model import AddOn, Needs, Release
from muster.service.decisions.operators import chosen_add_ons
from muster.service.derive.roles import effective_role
from muster.service.state import Cluster, Host
from muster.service.states.words import name_of
from muster.service.validations.requirements import Requirement, requirement_of

_MIB: Final = 1 << 20
_NOTHING: Final = (True, "", "")


class AddOnNeeds(Wire, frozen=True, kw_only=True):
    """What something takes, besides what the rest takes."""

    cpu_millicores: int = 0
    memory_mib: int = 0
    disk_mib: int = 0


class AddOnChoice(Wire, frozen=True, kw_only=True):
    """Something that a cluster may have, or not."""

    id: str
    name: str
    version: str
    bundle: str
    description: str
    size_bytes: Annotated[
        int, about("Of its images, as they are fetched; those that others need, too, count.")
    ] = 0
    host: Annotated[AddOnNeeds, about("What it takes of each host.")]
    cluster: Annotated[AddOnNeeds, about("What it takes of the cluster as a whole.")]
    dependencies: Annotated[tuple[str, ...], about("What has to be chosen with it.")] = ()
    conflicts: Annotated[tuple[str, ...], about("What cannot be chosen with it.")] = ()
    chosen: bool = False
    choosable: bool = True
    reason: Annotated[str, about("Why it cannot be chosen, or what speaks against it.")] = ""
    fix: Annotated[str, about("What to do about that.")] = ""


class AddOnBundle(Wire, frozen=True, kw_only=True):
    """Add-ons that are for the same."""

    id: str
    add_ons: tuple[str, ...]


class AddOnCatalogue(Wire, frozen=True, kw_only=True):
    """All that can be chosen, and why there is nothing when there is nothing."""

    add_ons: tuple[AddOnChoice, ...] = ()
    bundles: tuple[AddOnBundle, ...] = ()
    trouble: Annotated[str, about("Why the release cannot be looked at now.")] = ""


def catalogue_of(
    release: Release, cluster: Cluster | None = None, hosts: Iterable[Host] = ()
) -> AddOnCatalogue:
    """What a release has on top, judged by what is chosen already and by the hosts that are there."""
    offered, there = release.add_ons, tuple(hosts)
    chosen = chosen_add_ons(cluster, offered) if cluster is not None else ()
    choices = tuple(
        _choice(release, each, chosen, next(_against(each, chosen, cluster, there), _NOTHING))
        for each in offered
    )
    bundles = dict.fromkeys(each.bundle for each in offered)
    return AddOnCatalogue(
        add_ons=choices,
        bundles=tuple(
            AddOnBundle(id=id, add_ons=tuple(each.id for each in offered if each.bundle == id))
            for id in bundles
        ),
    )


def _choice(
    release: Release, add_on: AddOn, chosen: Sequence[str], against: tuple[bool, str, str]
) -> AddOnChoice:
    images = (release.find_image(id) for id in add_on.images)
    choosable, reason, fix = against
    return AddOnChoice(
        id=add_on.id,
        name=add_on.name,
        version=add_on.version,
        bundle=add_on.bundle,
        description=add_on.description,
        size_bytes=sum(image.size_bytes for image in images if image is not None),
        host=_needs(add_on.host),
        cluster=_needs(add_on.cluster),
        dependencies=add_on.dependencies,
        conflicts=add_on.conflicts,
        chosen=add_on.id in chosen,
        choosable=choosable,
        reason=reason,
        fix=fix,
    )


def _needs(needs: Needs) -> AddOnNeeds:
    return AddOnNeeds(
        cpu_millicores=needs.cpu_millicores, memory_mib=needs.memory_mib, disk_mib=needs.disk_mib
    )


def _against(
    add_on: AddOn, chosen: Sequence[str], cluster: Cluster | None, hosts: Sequence[Host]
) -> Iterator[tuple[bool, str, str]]:
    """What speaks against it, whether it can be chosen all the same, and what to do."""
    for other in add_on.conflicts:
        if other in chosen:
            yield False, f"{add_on.name} and {other} exclude each other", f"leave {other} out first"
    for host in hosts if cluster is not None else ():
        assert cluster is not None
        if short := _short_of(add_on, host, requirement_of(host, cluster)):
            yield (
                True,
                f"{name_of(host)} is small for it: {short}",
                "give the host more, take the host out, or leave this out",
            )


def _short_of(add_on: AddOn, host: Host, needed: Requirement) -> str:
    """What a host lacks, besides what its role takes."""
    inventory = host.inventory
    if inventory is None or effective_role(host) == "arbiter":
        return ""
    memory = ((inventory.memory.physical_bytes if inventory.memory else None) or 0) // _MIB
    cores = (inventory.cpu.count if inventory.cpu else None) or 0
    if memory and memory < needed.ram_mib + add_on.host.memory_mib:
        return f"it has {memory} MiB of memory, and needs {needed.ram_mib + add_on.host.memory_mib}"
    wanted = needed.cpu_cores + add_on.host.cpu_millicores // 1000
    return f"it has {cores} cores, and needs {wanted}" if cores and cores < wanted else ""
