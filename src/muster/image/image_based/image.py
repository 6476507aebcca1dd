# SPDX-License-Identifier: Apache-2.0
"""The ISO that copies a seed to the disk of its machine: a live image, and what `installation` gives it."""

from __future__ import annotations

from typing import Final

from muster.image.coreos.architecture import check_architecture
from muster.image.coreos.customize import Customization, customize
from muster.image.making import Making
from muster.image.product import Bill, Papers, Source, base_component, paper_names, save_customized
from muster.image.progress import Progress
from muster.image.sbom import Component
from muster.image.signature import load_signing_key
from muster.model.image_based_plan import InstallationPlan
from muster.model.release import RPM_ARCHITECTURES

ISO_NAME: Final = "rhcos-ibi.iso"


def build_installation_image(
    making: Making, source: Source, plan: InstallationPlan, ignition: bytes, progress: Progress
) -> None:
    """Write the ISO and the papers beside it."""
    check_architecture(source.volume, RPM_ARCHITECTURES[plan.architecture])
    signed = making.manner.sign_key is not None
    making.begin(None, (making.name, *paper_names(making.name, signed=signed)))
    overlay = customize(source.volume, Customization(ignition=ignition))
    digest = save_customized(source, overlay, making.path(making.name), progress)
    making.note_image(making.name)
    key = load_signing_key(making.manner.sign_key) if making.manner.sign_key else None
    seed = Component("container", plan.seed_image)
    papers = Papers(Bill((base_component(source.base, source.volume.label), seed), 0, {}), key)
    for name, data in papers.render(making.name, digest):
        making.save(name, data, mode=0o644)
