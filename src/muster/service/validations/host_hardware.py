# SPDX-License-Identifier: Apache-2.0
"""Whether a host's machine will do: what it told of itself, its processors, memory, platform and agent."""

from __future__ import annotations

from typing import Final

from muster.model.wire.cluster import Platform
from muster.model.wire.inventory import Inventory
from muster.service.validations.facts import ROLES, cluster_of, is_oracle_cloud, is_single, join, role_of
from muster.service.validations.registry import (
    SUPPRESSED,
    Answer,
    HostView,
    Reads,
    broken,
    failed,
    on_host,
    passed,
    pending,
)
from muster.service.validations.requirements import (
    CLUSTER_FIELDS,
    ROLE_FIELDS,
    extra_of,
    least_of,
    on_top_of,
    requirement_of,
    whole_cores,
)

MIB: Final = 1 << 20
TOLERANCE_MIB: Final = 100
"""Firmware keeps a little of what is built in."""
OPENSTACK: Final = "OpenStack Compute"
VMWARE: Final = "VMware, Inc."
NUTANIX: Final = "Nutanix"
ORACLE: Final = "OracleCloud.com"

_WHOLE: Final = Reads(host=frozenset({"inventory.cpu", "inventory.memory"}))
_TRUNCATED: Final = Reads(host=frozenset({"inventory.truncation"}))
_VERSION: Final = frozenset({"openshift_version"})
_FOR_ROLE: Final = ROLE_FIELDS | {"inventory.system_vendor"}


@on_host("has-inventory", "hardware", _WHOLE, pool=True, must=True)
def has_inventory(see: HostView) -> Answer:
    inventory = see.host.inventory
    if inventory is None:
        return failed()
    missing = [part for part in ("cpu", "memory") if getattr(inventory, part) is None]
    return failed("incomplete", parts=" and ".join(missing)) if missing else passed()


@on_host("inventory-not-partially-truncated", "hardware", _TRUNCATED, pool=True, advisory=True)
def inventory_not_partially_truncated(see: HostView) -> Answer:
    return _truncation(see.host.inventory, "partial")


@on_host("inventory-not-fully-truncated", "hardware", _TRUNCATED, pool=True, must=True)
def inventory_not_fully_truncated(see: HostView) -> Answer:
    return _truncation(see.host.inventory, "full")


def _truncation(inventory: Inventory | None, kind: str) -> Answer:
    if inventory is None:
        return pending()
    if inventory.truncation is None or inventory.truncation.type != kind:
        return passed()
    return failed(reasons="; ".join(inventory.truncation.reasons or ()) or "no reason given")


@on_host("has-min-cpu-cores", "hardware", Reads({"inventory.cpu"}, _VERSION), pool=True)
def has_min_cpu_cores(see: HostView) -> Answer:
    found = _cores(see.host.inventory)
    if found is None:
        return pending()
    wanted = least_of(see.cluster).cpu_cores
    return passed() if found >= wanted else failed(found=found, wanted=wanted)


@on_host("has-min-memory", "hardware", Reads({"inventory.memory"}, _VERSION), pool=True)
def has_min_memory(see: HostView) -> Answer:
    return _memory(see.host.inventory, least_of(see.cluster).ram_mib)


@on_host("has-cpu-cores-for-role", "hardware", Reads(_FOR_ROLE | {"inventory.cpu"}, CLUSTER_FIELDS))
def has_cpu_cores_for_role(see: HostView) -> Answer:
    found = _cores(see.host.inventory)
    if found is None:
        return pending()
    cluster = cluster_of(see)
    own = requirement_of(see.host, cluster).cpu_cores + extra_of(see.host, cluster).cpu_cores
    more = on_top_of(see.host, cluster, "cpu_millicores")
    wanted = own + whole_cores(more.amount)
    if found >= wanted:
        return passed()
    sentence = "with-add-ons" if wanted > own else "failure"
    return failed(
        sentence, found=found, wanted=wanted, role=_role(see), more=wanted - own, add_ons=join(more.ids)
    )


@on_host("has-memory-for-role", "hardware", Reads(_FOR_ROLE | {"inventory.memory"}, CLUSTER_FIELDS))
def has_memory_for_role(see: HostView) -> Answer:
    cluster = cluster_of(see)
    own = requirement_of(see.host, cluster).ram_mib + extra_of(see.host, cluster).ram_mib
    more = on_top_of(see.host, cluster, "ram_mib")
    if not more.amount:
        return _memory(see.host.inventory, own, role=_role(see))
    values = {"role": _role(see), "more": str(more.amount), "add_ons": join(more.ids)}
    return _memory(see.host.inventory, own + more.amount, "with-add-ons", **values)


def _cores(inventory: Inventory | None) -> int | None:
    return inventory.cpu.count or 0 if inventory is not None and inventory.cpu is not None else None


def _memory(inventory: Inventory | None, wanted_mib: int, sentence: str = "failure", **more: str) -> Answer:
    if inventory is None or inventory.memory is None:
        return pending()
    memory = inventory.memory
    # Linux itself counts only what it may use, which is up to 2 % less than what is built in.
    unseen = wanted_mib // 50 if memory.physical_bytes_method == "meminfo" else 0
    found = memory.physical_bytes or 0
    if found >= (wanted_mib - TOLERANCE_MIB - unseen) * MIB:
        return passed()
    return failed(sentence, found=f"{found / MIB / 1024:.1f}", wanted=f"{wanted_mib / 1024:.4g}", **more)


def _role(see: HostView) -> str:
    return "single node" if is_single(cluster_of(see)) else ROLES.get(role_of(see.host), "host of any role")


@on_host("compatible-with-cluster-platform", "hardware", Reads({"inventory.system_vendor"}, {"platform"}))
def compatible_with_cluster_platform(see: HostView) -> Answer:
    platform = cluster_of(see).platform
    inventory = see.host.inventory
    if inventory is None:
        return pending()
    wanted = maker_for(platform)
    if not wanted:
        return passed(platform=platform.type)
    if inventory.system_vendor is None:
        return broken()
    found = inventory.system_vendor.manufacturer or "unknown"
    if found == wanted:
        return passed(platform=platform.type)
    return failed(platform=platform.type, found=found, wanted=wanted)


def maker_for(platform: Platform) -> str:
    """Who makes the machines of a platform; empty when anybody may."""
    if is_oracle_cloud(platform):
        return ORACLE
    return {"vsphere": VMWARE, "nutanix": NUTANIX}.get(platform.type, "")


@on_host(
    "valid-platform-network-settings",
    "network",
    Reads({"inventory.system_vendor"}, {"user_managed_networking", "control_plane_count"}),
)
def valid_platform_network_settings(see: HostView) -> Answer:
    inventory = see.host.inventory
    if inventory is None:
        return pending()
    if inventory.system_vendor is None:
        return broken()
    cluster = cluster_of(see)
    if (
        inventory.system_vendor.product_name != OPENSTACK
        or cluster.user_managed_networking
        or is_single(cluster)
    ):
        return passed()
    return failed(product=OPENSTACK)


@on_host("compatible-agent", "hardware", Reads({"discovery_agent_version"}), pool=True)
def compatible_agent(see: HostView) -> Answer:
    if not see.agent_image:
        return SUPPRESSED
    found = see.host.discovery_agent_version
    return passed() if found == see.agent_image else failed(found=found or "unknown", wanted=see.agent_image)
