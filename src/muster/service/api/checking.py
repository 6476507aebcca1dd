# SPDX-License-Identifier: Apache-2.0
"""Answers about what people are about to say: whether it would do."""

from __future__ import annotations

from muster.service.api.call import Call, Reply, answers, reply
from muster.service.checking.manifests import ManifestToCheck, check_manifest
from muster.service.checking.networks import NetworksToCheck, check_networks


@answers("v2ValidateNetworks")
async def validate_networks(call: Call) -> Reply:
    wanted = call.decode(NetworksToCheck)
    return reply(await call.service.around.background.compute_answer(lambda: check_networks(wanted)))


@answers("v2ValidateManifest")
async def validate_manifest(call: Call) -> Reply:
    wanted, around = call.decode(ManifestToCheck), call.service.around
    return reply(await around.background.compute_answer(lambda: check_manifest(wanted, around.driver.kind)))
