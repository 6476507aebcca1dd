# SPDX-License-Identifier: Apache-2.0
"""A live image with an Ignition config in it, and the papers beside it: media without a plan of hosts."""

from __future__ import annotations

from muster.image.coreos.customize import Customization, customize
from muster.image.making import Making
from muster.image.papers import Bill, paper_names, render_papers
from muster.image.product import Source, base_component, check_target, digest_customized, save_customized
from muster.image.sbom import Component
from muster.progress import Progress


def build_live_image(
    making: Making, source: Source, wanted: Customization, parts: tuple[Component, ...], progress: Progress
) -> None:
    """Write the image, which holds no secrets that Muster makes, and what belongs beside it."""
    name, manner = making.name, making.manner
    overlay = source.whole(customize(source.image, wanted))
    check_target(source, making.path(name), overlay.size)
    making.begin(None, (name, *paper_names(name, manner)))
    digests = digest_customized(source, overlay, progress, with_sha256=manner.with_sha256)
    bill = Bill((base_component(source.base, source.volume.label), *parts))
    for paper, data in render_papers(name, digests, bill, manner):
        making.save(paper, data, mode=0o644)
    save_customized(source, overlay, making.path(name), progress)
    making.note_image(name)
