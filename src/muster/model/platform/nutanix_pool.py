# SPDX-License-Identifier: Apache-2.0
"""Virtual machines on Nutanix as a machine pool describes them."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from muster.model.schema import Items, Model, many, nested, value
from muster.model.values import INTEGER, TEXT, choice, number

_COUNT: Final = number(0, why="A machine cannot have less than nothing; 0 leaves it to the default.")
_INDEX: Final = number(0, why="Places at an adapter are counted from 0.")
_UUID: Final = "5736bf56-49f5-4667-b38c-b97e09dc9578"


class BootType(StrEnum):
    """How a machine boots."""

    LEGACY = "Legacy"
    UEFI = "UEFI"
    SECURE_BOOT = "SecureBoot"


class IdentifierType(StrEnum):
    """How a project is named."""

    UUID = "uuid"
    NAME = "name"


class GPUIdentifierType(StrEnum):
    """How a GPU is named."""

    NAME = "Name"
    DEVICE_ID = "DeviceID"


class DiskMode(StrEnum):
    """What a disk is stored on."""

    STANDARD = "Standard"
    FLASH = "Flash"


class DeviceType(StrEnum):
    """What a disk looks like to the machine."""

    DISK = "Disk"
    CDROM = "CDRom"


class AdapterType(StrEnum):
    """What a disk is attached to."""

    SCSI = "SCSI"
    IDE = "IDE"
    PCI = "PCI"
    SATA = "SATA"
    SPAPR = "SPAPR"


class StorageReference(Model):
    """A storage container or an image in a Prism Element."""

    reference_name: str | None = value(
        TEXT, "Name that other parts of this file call it by.", example="container1"
    )
    uuid: str | None = value(TEXT, "Its UUID.", example=_UUID)
    name: str | None = value(TEXT, "Its name in the Prism Element.", example="default-container")


class NutanixOSDisk(Model):
    """The disk that the operating system is on."""

    disk_size_gib: int | None = value(_COUNT, "Size of the disk in GiB.", key="diskSizeGiB", example="120")


class NutanixResource(Model):
    """A project in Prism Central; the field named like its type identifies it."""

    type: IdentifierType | None = value(choice(IdentifierType), "How the project is named.", example="uuid")
    uuid: str | None = value(TEXT, "UUID of the project.", example=_UUID)
    name: str | None = value(TEXT, "Name of the project.", example="project1")


class NutanixCategory(Model):
    """A category in Prism Central that machines are put into."""

    category: str | None = value(TEXT, "Name of the category.", key="key", example="Environment")
    setting: str | None = value(TEXT, "Value of the category.", key="value", example="Production")


class NutanixGPU(Model):
    """A GPU that a machine gets; only workers can have one."""

    type: GPUIdentifierType | None = value(choice(GPUIdentifierType), "How the GPU is named.", example="Name")
    device_id: int | None = value(INTEGER, "Number of the device.", key="deviceID", example="8757")
    name: str | None = value(TEXT, "Name of the device.", example="Tesla T4 compute")


class DeviceProperties(Model):
    """How a disk is attached."""

    device_type: DeviceType | None = value(
        choice(DeviceType), "What the disk looks like to the machine.", default="Disk", example="Disk"
    )
    adapter_type: AdapterType | None = value(
        choice(AdapterType), "What the disk is attached to.", example="SCSI"
    )
    device_index: int | None = value(_INDEX, "Place of the disk at its adapter.", default="0", example="1")


class StorageConfig(Model):
    """What a disk is stored on."""

    disk_mode: DiskMode | None = value(
        choice(DiskMode), "Kind of storage.", default="Standard", example="Flash"
    )
    storage_container: StorageReference | None = value(
        nested(StorageReference), "Storage container of the disk."
    )


class NutanixDataDisk(Model):
    """A further disk; only workers can have one."""

    disk_size: str | None = value(TEXT, "Size of the disk with its unit, at least 1Gi.", example="100Gi")
    device_properties: DeviceProperties | None = value(nested(DeviceProperties), "How the disk is attached.")
    storage_config: StorageConfig | None = value(nested(StorageConfig), "What the disk is stored on.")
    data_source_image: StorageReference | None = value(
        nested(StorageReference), "Image that the disk is a copy of.", default="the disk is empty"
    )


class NutanixMachinePool(Model):
    """Virtual machines of a pool on Nutanix."""

    cpus: int | None = value(_COUNT, "Virtual CPUs of a machine.", example="8")
    cores_per_socket: int | None = value(_COUNT, "Cores of each virtual CPU.", example="1")
    memory_mib: int | None = value(_COUNT, "Memory of a machine in MiB.", key="memoryMiB", example="16384")
    os_disk: NutanixOSDisk | None = value(nested(NutanixOSDisk), "The disk of the operating system.")
    boot_type: BootType | None = value(
        choice(BootType), "How a machine boots.", default="Legacy", example="UEFI"
    )
    project: NutanixResource | None = value(nested(NutanixResource), "Project that the machines belong to.")
    categories: Items[NutanixCategory] = many(
        nested(NutanixCategory), "Categories that the machines are put into."
    )
    gpus: Items[NutanixGPU] = many(nested(NutanixGPU), "GPUs that each machine gets.")
    data_disks: Items[NutanixDataDisk] = many(nested(NutanixDataDisk), "Further disks.", default="none")
    failure_domains: Items[str] = many(
        TEXT, "Failure domains that the machines are spread over.", example="zone-a"
    )
