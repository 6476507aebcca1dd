# SPDX-License-Identifier: Apache-2.0
"""Platforms that the installation knows nothing about: external providers, and none at all."""

from __future__ import annotations

from enum import StrEnum

from muster.model.schema import Model, value
from muster.model.values import TEXT, choice


class CloudControllerManager(StrEnum):
    """Who tells the cluster about its provider."""

    EXTERNAL = "External"
    NONE = ""


class ExternalPlatform(Model):
    """A provider that integrates itself after the installation."""

    platform_name: str | None = value(
        TEXT, "Name of the provider, shown in reports.", default="Unknown", example="oci"
    )
    cloud_controller_manager: CloudControllerManager | None = value(
        choice(CloudControllerManager),
        "External when the provider brings its own cloud controller manager.",
        default="there is none",
        example="External",
    )


class NonePlatform(Model):
    """No platform at all; there is nothing to set."""
