# SPDX-License-Identifier: Apache-2.0
"""Answers with the files that boot hosts of an infra-env, and where its images can be had."""

from __future__ import annotations

from typing import Final

from muster.model.wire.infra_env import PresignedUrl
from muster.service.api.call import Call, Reply, answers, empty, file, reply
from muster.service.refusals import BadRequest, NotFound

_FILES: Final = ("discovery.ign", "ipxe-script", "static-network-config")
_SCRIPTS: Final = ("discovery-image-always", "boot-order-control")


@answers("GetInfraEnvDownloadURL")
async def image_url(call: Call) -> Reply:
    infra_env = call.service.engine.infra_env(call.ids["infra_env_id"])
    url, expires_at = call.service.around.media.url_of(infra_env)
    return reply(PresignedUrl(url=url, expires_at=expires_at))


@answers("GetInfraEnvPresignedFileURL")
async def presigned_file(call: Call) -> Reply:
    infra_env, name = call.service.engine.infra_env(call.ids["infra_env_id"]), _wanted(call)
    query = {"file_name": name}
    if kind := call.query.get("ipxe_script_type"):
        query["ipxe_script_type"] = kind
    url, expires_at = call.service.around.media.file_url_of(infra_env, query)
    return reply(PresignedUrl(url=url, expires_at=expires_at))


@answers("v2DownloadInfraEnvFiles")
async def download_file(call: Call) -> Reply:
    service, name = call.service, _wanted(call)
    infra_env, media = service.engine.infra_env(call.ids["infra_env_id"]), service.around.media
    await service.settle(infra_env.id)
    if name == "discovery.ign":
        return file(media.ignition_of(infra_env), name)
    if name == "static-network-config":
        return file(media.networks_of(infra_env), f"{name}.tar")
    kind = call.query.get("ipxe_script_type") or _SCRIPTS[0]
    if kind not in _SCRIPTS:
        raise BadRequest(f"ipxe_script_type: {kind!r} is none", hint=f"one of {', '.join(_SCRIPTS)}")
    mac = call.query.get("mac", "").lower().replace("-", ":")
    if kind == _SCRIPTS[1] and not mac:
        return file(media.redirect_of(infra_env).encode(), name)
    if mac and _boots_from_disk(call, mac):
        raise NotFound(
            f"the host with {mac} boots from its disk now", hint="reset it to boot it from the network"
        )
    return file(media.script_of(infra_env).encode(), name)


def _boots_from_disk(call: Call, mac: str) -> bool:
    """Whether the host of a card was written already."""
    for host in call.service.engine.hosts_of(call.ids["infra_env_id"]):
        cards = (host.inventory.interfaces or ()) if host.inventory is not None else ()
        if any((card.mac_address or "").lower() == mac for card in cards):
            return host.progress.current_stage in (
                "Rebooting",
                "Configuring",
                "Joined",
                "Done",
                "Waiting for ignition",
            )
    return False


@answers("DownloadMinimalInitrd")
async def minimal_initrd(call: Call) -> Reply:
    infra_env = call.service.engine.infra_env(call.ids["infra_env_id"])
    body = call.service.around.media.initrd_of(infra_env)
    return empty() if body is None else file(body, "minimal-initrd.img")


def _wanted(call: Call) -> str:
    name = call.query.get("file_name", "")
    if name not in _FILES:
        raise BadRequest(f"file_name: {name!r} is none", hint=f"one of {', '.join(_FILES)}")
    return name
