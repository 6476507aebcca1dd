# SPDX-License-Identifier: Apache-2.0
"""How many hosts a cluster has, and what they are: machine pools, single nodes, arbiters, architectures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from muster.config.derive import (
    AGENT_PLATFORMS,
    DEFAULT_CONTROL_PLANE,
    DEFAULT_WORKERS,
    USER_MANAGED_PLATFORMS,
    platform_name,
)
from muster.config.document import edit
from muster.config.networks import plugin_node, plugin_of, read_networking, uses_ovn
from muster.config.rules import disks, fencing
from muster.model.install_config import InstallConfig
from muster.model.machine_pool import Architecture, Hyperthreading, MachineManagement, MachinePool
from muster.model.problem import Edit, Place, Problem, problem
from muster.model.site import Site
from muster.model.tree import Node, Scalar, is_null

MOST_MASTERS: Final = 5
ARBITER_PLATFORMS: Final = ("baremetal", "none", "external")
_ONLY_NONE: Final = (Architecture.PPC64LE, Architecture.S390X)


class Pools(NamedTuple):
    """How many hosts of each kind are asked for; None when that is written but cannot be read."""

    masters: int | None
    arbiters: int | None
    workers: int | None


def agent_install(site: Site) -> InstallConfig | None:
    """The cluster of an agent-based installation."""
    return None if site.image_based is not None else site.install


def count_pools(install: InstallConfig) -> Pools:
    """The numbers of hosts, without a guess for what could not be read."""
    masters = _count(install.control_plane, DEFAULT_CONTROL_PLANE)
    arbiters = _count(install.arbiter, 0)
    workers: int | None = DEFAULT_WORKERS
    if install.compute:
        counts = [_count(pool, DEFAULT_WORKERS) for pool in install.compute]
        workers = None if None in counts else sum(count for count in counts if count)
    return Pools(
        None if install.is_unread("control_plane") else masters,
        None if install.is_unread("arbiter") else arbiters,
        None if install.is_unread("compute") else workers,
    )


def _count(pool: MachinePool | None, default: int) -> int | None:
    if pool is None or is_null(pool.places.get("replicas")):
        return default
    return pool.replicas


def pools_of(install: InstallConfig) -> Iterator[tuple[str, MachinePool]]:
    """All machine pools, each with the field that it stands in."""
    if install.control_plane:
        yield "controlPlane", install.control_plane
    if install.arbiter:
        yield "arbiter", install.arbiter
    for pool in install.compute:
        yield "compute", pool


def check_pool_names(site: Site) -> Iterator[Problem]:
    """Control plane and arbiter have names that cannot be chosen."""
    install = site.install
    if install is None:
        return
    for pool, field, right in (
        (install.control_plane, "controlPlane", "master"),
        (install.arbiter, "arbiter", "arbiter"),
    ):
        if pool and pool.name is not None and pool.name != right:
            at = pool.at("name")
            edits = edit.replace_scalar(at, right)
            yield problem("fixed-pool-name", at, field=field, value=pool.name, right=right, edits=edits)


def check_compute_names(site: Site) -> Iterator[Problem]:
    """There is one pool of workers, and it is called worker."""
    install = agent_install(site)
    if install is None:
        return
    seen: set[str] = set()
    for pool in install.compute:
        at = pool.places.get("name")
        if pool.name == "worker":
            if pool.name in seen:
                yield problem("duplicate-pool", pool.at("name"), value=pool.name)
            seen.add(pool.name)
        elif pool.name or pool.name == "" or is_null(at):
            edits = _name_worker(pool) if len(install.compute) == 1 else ()
            found = pool.name or "missing"
            yield problem("compute-pool-name", at or Place.start_of(pool.node), value=found, edits=edits)


def _name_worker(pool: MachinePool) -> tuple[Edit, ...]:
    at = pool.places.get("name")
    if isinstance(at, Scalar):
        return edit.replace_scalar(at, "worker")
    return edit.insert_entry(pool.node, "name", "worker")


def check_counts(site: Site) -> Iterator[Problem]:
    """No pool has fewer than no hosts, and the control plane has between one and five."""
    install = site.install
    if install is None:
        return
    for field, pool in pools_of(install):
        at = pool.at("replicas")
        if pool.replicas is None or not isinstance(at, Scalar):
            continue
        if field != "controlPlane":
            if pool.replicas < 0:
                yield problem("negative-replicas", at, field=field, value=pool.replicas)
        elif not 1 <= pool.replicas <= MOST_MASTERS and site.image_based is None:
            yield problem("control-plane-count", at, value=pool.replicas, most=MOST_MASTERS)


def check_single_node(site: Site) -> Iterator[Problem]:
    """A control plane of one host is a cluster of one host."""
    install = agent_install(site)
    if install is None:
        return
    pools, platform = count_pools(install), platform_name(install)
    if pools.masters != 1 or pools.workers is None:
        return
    master = install.control_plane.at("replicas") if install.control_plane else install.node
    if pools.workers > 0:
        where, how, right = _workers_place(install, master)
        workers = "1 worker is" if pools.workers == 1 else f"{pools.workers} workers are"
        yield problem("single-node-workers", where, workers=workers, how=how, right=right)
    elif platform in USER_MANAGED_PLATFORMS:
        networking, _ = read_networking(site)
        if not uses_ovn(networking):
            yield problem("single-node-network", plugin_node(networking), value=plugin_of(networking))
    elif platform in AGENT_PLATFORMS:
        section = install.platform.at(platform) if install.platform and platform else master
        yield problem("single-node-platform", Place.of_key(section), value=platform)


def _workers_place(install: InstallConfig, master: Node) -> tuple[Node | Place, str, str]:
    """Where the workers are asked for, whether in so many words, and how to ask for none."""
    for pool in install.compute:
        if _count(pool, DEFAULT_WORKERS):
            written = pool.places.get("replicas")
            key = written.key.text if written is not None and written.key else "replicas"
            how = " by default" if is_null(written) else ""
            return written or Place.start_of(pool.node), how, f"write {key}: 0"
    right = "add a compute section with a pool that has name: worker and replicas: 0"
    return master, " by default, because there is no compute section", right


def check_two_nodes(site: Site) -> Iterator[Problem]:
    """Two control-plane hosts alone cannot tell which of them failed."""
    install = agent_install(site)
    if install is None or install.control_plane is None or count_pools(install).masters != 2:
        return
    if not install.has("arbiter") and not install.control_plane.has("fencing"):
        arbiter, fencing = "an arbiter section with replicas: 1", "controlPlane.fencing"
        if site.is_lifted:
            arbiter = "provisionRequirements.arbiterAgents: 1"
            fencing = "controlPlane.fencing in the annotation install-config-overrides"
        yield problem("two-nodes", install.control_plane.at("replicas"), arbiter=arbiter, fencing=fencing)


def check_arbiter(site: Site) -> Iterator[Problem]:
    """An arbiter stands beside two control-plane hosts or more, where it is supported."""
    install = agent_install(site)
    if install is None or install.arbiter is None:
        return
    arbiter, pools, platform = install.arbiter, count_pools(install), platform_name(install)
    if platform in AGENT_PLATFORMS and platform not in ARBITER_PLATFORMS:
        at = Place.of_key(install.at("arbiter"))
        yield problem("arbiter-platform", at, platform=platform, known="baremetal, none or external")
    if pools.masters is None or pools.arbiters is None or pools.arbiters < 0:
        return
    written = arbiter.places.get("replicas")
    at = Place.of_key(install.at("arbiter")) if written is None else Place.of(written)
    if pools.masters == 1:
        yield problem("arbiter-without-pair", at)
    elif pools.arbiters < 1 or (pools.masters == 2 and pools.arbiters != 1):
        right, advice = "at least 1", "write how many arbiters there are, or remove arbiter"
        if pools.masters == 2:
            right, advice = "1", f"write {'arbiterAgents' if site.is_lifted else 'replicas'}: 1"
        yield problem("arbiter-count", at, value=pools.arbiters, right=right, advice=advice)


def check_architectures(site: Site) -> Iterator[Problem]:
    """All hosts have an architecture that the platform and the other hosts get along with."""
    install = agent_install(site)
    if install is None:
        return
    platform = platform_name(install)
    pool = install.control_plane
    control = pool.architecture if pool else None
    if pool and control in _ONLY_NONE and platform in AGENT_PLATFORMS and platform != "none":
        yield problem("architecture-platform", pool.at("architecture"), value=control, platform=platform)
    if pool and pool.is_unread("architecture"):
        return
    control = control or Architecture.AMD64
    for field, each in pools_of(install):
        mine = each.architecture or control
        workers = platform == "baremetal" and field == "compute"
        mixed = workers and control is Architecture.AMD64 and mine is Architecture.ARM64
        if mine is not control and not mixed:
            at = each.at("architecture")
            yield problem("mixed-architectures", at, field=field, value=mine, right=control)


def check_pool_settings(site: Site) -> Iterator[Problem]:
    """Settings of pools that have no effect on hosts that exist already, or that only AWS has."""
    install = agent_install(site)
    if install is None:
        return
    reason = "every host keeps the setting of its firmware"
    for _, pool in pools_of(install):
        if pool.hyperthreading is Hyperthreading.DISABLED:
            at = Place.of_key(pool.at("hyperthreading"))
            yield problem("ignored-field", at, key="hyperthreading: Disabled", reason=reason)
        if pool.management is MachineManagement.CLUSTER_API and platform_name(install) in AGENT_PLATFORMS:
            yield problem("machine-management", pool.at("management"), value=pool.management)


RULES: Final = (
    check_pool_names,
    check_compute_names,
    check_counts,
    check_single_node,
    check_two_nodes,
    check_arbiter,
    check_architectures,
    check_pool_settings,
    *fencing.RULES,
    *disks.RULES,
)
