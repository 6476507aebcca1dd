# SPDX-License-Identifier: Apache-2.0
"""Where the base images of media come from: a port, and the images that a service was started with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol

from muster.errors import UserError
from muster.image.base_image import BaseImage
from muster.service.media.order import Kind

RPM_NAMES: Final = {"arm64": "aarch64", "amd64": "x86_64"}
"""Architectures that have two names in the interface."""


class NotThere(UserError):
    """Something that was asked for does not exist."""


class BaseImages(Protocol):
    """Gives the live ISO that media for some machines are made from."""

    def find(self, architecture: str, version: str, kind: Kind) -> BaseImage:
        """May take its time; NotThere when there is none."""


class KnownImages:
    """Images that are known from the start, each by its architecture and version.

    They may be made or fetched when they are asked for; that is up to what stands for them.
    """

    def __init__(self, images: Mapping[tuple[str, str], Callable[[], BaseImage]]) -> None:
        self._images = {(rpm_name(name), version): get for (name, version), get in images.items()}

    def find(self, architecture: str, version: str, kind: Kind) -> BaseImage:
        """The image of a version, else the one that is for all versions, which has an empty one."""
        name = rpm_name(architecture)
        found = self._images.get((name, version)) or self._images.get((name, ""))
        if found is None or kind is Kind.DISCONNECTED:
            what = "a disconnected medium" if kind is Kind.DISCONNECTED else f"version {version or 'any'}"
            raise NotThere(
                f"there is no base image of {what} for {name}",
                hint="choose a version and an architecture that the service has an image for",
            )
        return found()


def rpm_name(architecture: str) -> str:
    """An architecture as images call it."""
    return RPM_NAMES.get(architecture, architecture)
