# SPDX-License-Identifier: Apache-2.0
"""Scripts for iPXE: one that boots a host for discovery, and one that lets the service decide by its card."""

from __future__ import annotations

from urllib.parse import quote

from muster.image.pxe import render_ipxe_boot
from muster.service.media.bases import rpm_name
from muster.service.media.compose import Composer
from muster.service.media.order import Kind, MediumOrder
from muster.service.media.signing import Place, Signer


def boot_script(order: MediumOrder, key_id: str, composer: Composer, signer: Signer) -> str:
    """`discovery-image-always`: fetch kernel and initial RAM disk, and boot."""
    version, architecture = order.version, rpm_name(order.architecture)
    kernel = f"boot-artifacts/{quote(version or 'any', safe='')}/{architecture}/vmlinuz"
    place = Place(order.infra_env_id, Kind.INITRD, version, architecture)
    initrd = signer.address(order.media_url, place, key_id)
    kargs = composer.kernel_arguments(order)
    return render_ipxe_boot(f"{order.media_url.rstrip('/')}/{kernel}", initrd.url, kargs)


def redirect_script(address: str) -> str:
    """`boot-order-control`: ask again at the address, with the card that the host boots from.

    A host that has to go on from its disk gets no script then; iPXE leaves the boot to the next device.
    """
    return f"#!ipxe\nchain {address}&mac=${{net0/mac}}\n"
