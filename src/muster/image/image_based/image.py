# SPDX-License-Identifier: Apache-2.0
"""The ISO that copies a seed to the disk of its machine: a live image, and what `installation` gives it."""

from __future__ import annotations

from typing import Final

from muster.image.coreos.architecture import check_architecture
from muster.image.coreos.customize import Customization
from muster.image.live_image import build_live_image
from muster.image.making import Making
from muster.image.product import Source
from muster.image.sbom import Component
from muster.model.image_based_plan import InstallationPlan
from muster.model.release import RPM_ARCHITECTURES
from muster.progress import Progress

ISO_NAME: Final = "rhcos-ibi.iso"


def build_installation_image(
    making: Making, source: Source, plan: InstallationPlan, ignition: bytes, progress: Progress
) -> None:
    """Write the ISO and the papers beside it."""
    check_architecture(source.volume, RPM_ARCHITECTURES[plan.architecture])
    wanted = Customization(ignition=ignition)
    build_live_image(making, source, wanted, (Component("container", plan.seed_image),), progress)
