# SPDX-License-Identifier: Apache-2.0
"""Answers about what can be installed on top of a cluster, in our words and in those that clients know."""

from __future__ import annotations

from muster.model.wire.operators import Bundle
from muster.release.model import AddOn
from muster.service.add_ons import AddOnCatalogue, catalogue_of
from muster.service.api.call import Call, Reply, answers, reply
from muster.service.api.clusters import cluster_of, realm_of
from muster.service.api.showing import seen
from muster.service.refusals import NotFound


@answers("v2ListAddOns")
async def list_add_ons(call: Call) -> Reply:
    version, architecture = call.query["openshift_version"], call.query.get("cpu_architecture") or "x86_64"
    found = call.service.around.find_release(version, architecture)
    if isinstance(found, str):
        return reply(AddOnCatalogue(trouble=found))
    return reply(catalogue_of(found))


@answers("v2ListClusterAddOns")
async def list_cluster_add_ons(call: Call) -> Reply:
    def see() -> AddOnCatalogue:
        cluster = cluster_of(call)
        found = call.service.around.find_release(cluster.openshift_version, cluster.cpu_architecture)
        if isinstance(found, str):
            return AddOnCatalogue(trouble=found)
        return catalogue_of(found, cluster, realm_of(call).hosts.values())

    return reply(await seen(call, (realm_of(call).id,), see))


def _offered(call: Call) -> tuple[AddOn, ...]:
    """All that any release of this service has; clients that ask so do not say which they mean."""
    found: dict[str, AddOn] = {}
    for offer in call.service.around.offers.releases:
        release = call.service.around.find_release(offer.version, offer.architectures[0])
        if not isinstance(release, str):
            found.update({each.id: each for each in release.add_ons})
    return tuple(found.values())


def _bundles(call: Call) -> tuple[Bundle, ...]:
    offered = _offered(call)
    return tuple(
        Bundle(
            id=id,
            title=id.replace("-", " ").capitalize(),
            description="; ".join(each.description for each in offered if each.bundle == id),
            operators=tuple(each.id for each in offered if each.bundle == id),
            optional_operators=(),
        )
        for id in dict.fromkeys(each.bundle for each in offered)
    )


@answers("V2ListSupportedOperators")
async def operators(call: Call) -> Reply:
    return reply([each.id for each in _offered(call)])


@answers("V2ListOperatorProperties")
async def operator_properties(call: Call) -> Reply:
    """None of them has any."""
    name = call.ids["operator_name"]
    if name not in {each.id for each in _offered(call)}:
        raise NotFound(f"there is no operator {name}", hint="list the supported operators")
    return reply([])


@answers("V2ListBundles")
async def bundles(call: Call) -> Reply:
    return reply(_bundles(call))


@answers("V2GetBundle")
async def bundle(call: Call) -> Reply:
    for each in _bundles(call):
        if each.id == call.ids["id"]:
            return reply(each)
    raise NotFound(f"there is no bundle {call.ids['id']}", hint="list the bundles")
