# SPDX-License-Identifier: Apache-2.0
"""Virtual machines on vSphere as a machine pool describes them."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from muster.model.schema import Items, Model, many, nested, value
from muster.model.values import TEXT, choice, number

_COUNT: Final = number(0, why="A machine cannot have less than nothing; 0 leaves it to the default.")
_DISK_GIB: Final = number(1, 16384, why="vSphere disks are supported up to 16 TiB.")


class ProvisioningMode(StrEnum):
    """When the space of a disk is taken."""

    THIN = "Thin"
    THICK = "Thick"
    EAGERLY_ZEROED = "EagerlyZeroed"


class VSphereOSDisk(Model):
    """The disk that the operating system is on."""

    disk_size_gb: int | None = value(
        _COUNT, "Size of the disk in gigabytes.", key="diskSizeGB", example="120"
    )


class VSphereDataDisk(Model):
    """A further disk."""

    name: str | None = value(TEXT, "Name of the disk, unique in the pool.", example="images_1")
    size_gib: int | None = value(_DISK_GIB, "Size of the disk in GiB.", key="sizeGiB", example="100")
    provisioning_mode: ProvisioningMode | None = value(
        choice(ProvisioningMode),
        "When the space of the disk is taken.",
        default="the storage policy of the datastore",
        example="Thin",
    )


class VSphereMachinePool(Model):
    """Virtual machines of a pool on vSphere."""

    cpus: int | None = value(_COUNT, "Virtual CPUs of a machine.", default="4", example="8")
    cores_per_socket: int | None = value(_COUNT, "CPUs that share a socket.", default="4", example="4")
    memory_mb: int | None = value(_COUNT, "Memory of a machine in MiB.", key="memoryMB", example="16384")
    os_disk: VSphereOSDisk | None = value(nested(VSphereOSDisk), "The disk of the operating system.")
    data_disks: Items[VSphereDataDisk] = many(nested(VSphereDataDisk), "Further disks.", default="none")
    zones: Items[str] = many(TEXT, "Failure domains that the machines are spread over.", example="zone-a")
