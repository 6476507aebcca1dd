# SPDX-License-Identifier: Apache-2.0
"""A live image with an Ignition config in it, and the papers beside it: media without a plan of hosts."""

from __future__ import annotations

from muster.image.checksum import sha256_of
from muster.image.coreos.customize import Customization, customize
from muster.image.making import Making
from muster.image.product import (
    Bill,
    Papers,
    Source,
    base_component,
    check_target,
    digest_customized,
    paper_names,
    save_customized,
)
from muster.image.progress import Progress
from muster.image.sbom import Component
from muster.image.signature import load_signing_key


def build_live_image(
    making: Making, source: Source, ignition: bytes, parts: tuple[Component, ...], progress: Progress
) -> None:
    """Write the image, which holds no secrets that Muster makes, and what belongs beside it."""
    name, manner = making.name, making.manner
    hashed = (f"{name}.sha256",) if manner.with_sha256 else ()
    overlay = customize(source.volume, Customization(ignition=ignition))
    check_target(source, making.path(name), overlay.size)
    making.begin(None, (name, *paper_names(name, signed=manner.sign_key is not None), *hashed))
    digest = digest_customized(source, overlay, progress)
    sha256 = sha256_of(source.volume.view(overlay).read, overlay.size, progress) if hashed else ""
    key = load_signing_key(manner.sign_key) if manner.sign_key else None
    papers = Papers(Bill((base_component(source.base, source.volume.label), *parts), 0, {}), key)
    for paper, data in papers.render(name, digest, sha256):
        making.save(paper, data, mode=0o644)
    for paper in hashed:
        making.save(paper, f"{sha256}  {name}\n".encode(), mode=0o644)
    save_customized(source, overlay, making.path(name), progress)
    making.note_image(name)
