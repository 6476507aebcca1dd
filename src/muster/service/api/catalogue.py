# SPDX-License-Identifier: Apache-2.0
"""Answers about what can be installed, and what it takes."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any, get_args

from muster.model.wire.cluster import ClusterDefaultConfig, ClusterNetwork, ServiceNetwork
from muster.model.wire.enums import ArchitectureSupportLevelId, FeatureSupportLevelId, SupportLevel
from muster.model.wire.versions import Feature, ListVersions, OpenshiftVersion
from muster.service.api.call import Call, Reply, answers, reply
from muster.service.api.clusters import cluster_of, realm_of
from muster.service.refusals import BadRequest
from muster.service.validations.requirements import preflight_requirements

FORBIDDEN_HOSTNAMES = (
    *("localhost", "localhost.localdomain", "localhost4", "localhost4.localdomain4", "localhost6"),
    "localhost6.localdomain6",
)


@cache
def _features() -> dict[str, Any]:
    path = resources.files("muster.service.api").joinpath("features.toml")
    return tomllib.loads(path.read_text("utf-8"))


def _level(feature: str) -> SupportLevel:
    return "supported" if feature in _features()["supported"] else "unavailable"


@answers("V2GetClusterDefaultConfig")
async def default_config(call: Call) -> Reply:
    four = ClusterNetwork(cidr="10.128.0.0/14", host_prefix=23), ServiceNetwork(cidr="172.30.0.0/16")
    six = ClusterNetwork(cidr="fd01::/48", host_prefix=64), ServiceNetwork(cidr="fd02::/112")
    return reply(
        ClusterDefaultConfig(
            cluster_network_cidr="10.128.0.0/14",
            cluster_network_host_prefix=23,
            service_network_cidr="172.30.0.0/16",
            ntp_source=call.service.around.offers.ntp_source,
            cluster_networks_ipv4=(four[0],),
            cluster_networks_dualstack=(four[0], six[0]),
            service_networks_ipv4=(four[1],),
            service_networks_dualstack=(four[1], six[1]),
            inactive_deletion_hours=0,
            forbidden_hostnames=FORBIDDEN_HOSTNAMES,
        )
    )


@answers("v2ListComponentVersions")
async def component_versions(call: Call) -> Reply:
    return reply(ListVersions(versions=dict(call.service.around.offers.components), release_tag=""))


@answers("v2ListSupportedOpenshiftVersions")
async def versions(call: Call) -> Reply:
    wanted, found = call.query.get("version", ""), {}
    for offer in call.service.around.offers.releases:
        if offer.version.startswith(wanted):
            found[offer.version] = OpenshiftVersion(
                display_name=offer.title or offer.version,
                support_level="production",
                default=offer.is_default,
                cpu_architectures=offer.architectures,
            )
    if call.flag("only_latest"):
        found = dict(list(found.items())[:1])
    return reply(found)


@answers("v2ListReleaseSources")
async def release_sources(_call: Call) -> Reply:
    return reply([])


@answers("V2ListManagedDomains")
async def domains(_call: Call) -> Reply:
    return reply([])


@answers("GetSupportedFeatures")
async def features(call: Call) -> Reply:
    _check_version(call)
    return reply({"features": {each: _level(each) for each in get_args(FeatureSupportLevelId)}})


@answers("GetDetailedSupportedFeatures")
async def detailed_features(call: Call) -> Reply:
    _check_version(call)
    found = [
        Feature(feature_support_level_id=each, support_level=_level(each), incompatibilities=())
        for each in get_args(FeatureSupportLevelId)
    ]
    return reply({"features": found, "operators": []})


@answers("GetSupportedArchitectures")
async def architectures(call: Call) -> Reply:
    _check_version(call)
    levels = _features()["architectures"]
    found = {each: levels.get(each, "unavailable") for each in get_args(ArchitectureSupportLevelId)}
    return reply({"architectures": found})


def _check_version(call: Call) -> None:
    if not call.query.get("openshift_version"):
        raise BadRequest("openshift_version is missing", hint="say which version is meant")


@answers("GetClusterSupportedPlatforms")
async def supported_platforms(call: Call) -> Reply:
    realm = realm_of(call)
    known = {"baremetal", "none", "external"}
    vendors = {
        host.inventory.system_vendor.manufacturer or ""
        for host in realm.hosts.values()
        if host.inventory is not None and host.inventory.system_vendor is not None
    }
    if vendors and all("VMware" in each for each in vendors):
        known.add("vsphere")
    if vendors and all("Nutanix" in each for each in vendors):
        known.add("nutanix")
    return reply(sorted(known))


@answers("v2GetPreflightRequirements")
async def preflight(call: Call) -> Reply:
    return reply(preflight_requirements(cluster_of(call)))
