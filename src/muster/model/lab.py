# SPDX-License-Identifier: Apache-2.0
"""lab.yaml: what the virtual machines of a rehearsal look like, where that does not follow from the site."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from muster.model.fault import BadFault, Fault, parse_fault
from muster.model.schema import Complain, Items, Leaf, Model, many, nested, value
from muster.model.tree import Scalar
from muster.model.values import BOOLEAN, TEXT, choice, number


class Firmware(StrEnum):
    """What starts a machine."""

    BIOS = "bios"
    UEFI = "uefi"


class Medium(StrEnum):
    """How a machine gets the image that it boots."""

    CD = "cd"
    USB = "usb"
    DISK = "disk"
    PXE = "pxe"
    NONE = "none"


class Bus(StrEnum):
    """How a disk is attached; it decides the name that the guest gives it."""

    VIRTIO = "virtio"
    SCSI = "scsi"
    NVME = "nvme"
    SATA = "sata"


class Service(StrEnum):
    """What the lab itself offers to its machines."""

    DHCP = "dhcp"
    DNS = "dns"
    NTP = "ntp"
    REGISTRY = "registry"


def _parse_fault(node: Scalar, complain: Complain) -> Fault | None:
    try:
        return parse_fault(node.text)
    except BadFault as error:
        complain("not-a-fault", reason=str(error))
        return None


FAULT: Final = Leaf("fault", {"type": "string", "pattern": "^[a-z-]+:.+"}, _parse_fault)
MEMORY: Final = number(64, 1 << 20, why="No guest starts with less, and no machine has more.")
CPUS: Final = number(1, 128, why="A machine has processors.")


class LabDisk(Model):
    """A disk of a virtual machine."""

    size_gib: int | None = value(
        number(1, 65536, why="A disk has a size."),
        "Size in GiB; only what is written takes space.",
        key="sizeGiB",
        default="20, or just above minSizeGigabytes",
        example="120",
    )
    bus: Bus | None = value(
        choice(Bus),
        "How it is attached: virtio (/dev/vda), scsi or sata (/dev/sda), nvme (/dev/nvme0n1).",
        default="virtio; scsi where a WWN, a vendor or a kind is wanted",
        example="scsi",
    )
    serial: str | None = value(TEXT, "Serial number that it reports.", example="S4EVNX0M123456")
    wwn: str | None = value(TEXT, "World Wide Name that it reports.", example="0x5002538e40a2b3c4")
    vendor: str | None = value(TEXT, "Vendor that it reports, up to 8 characters.", example="ATA")
    product: str | None = value(TEXT, "Model that it reports, up to 16 characters.", example="SAMSUNG MZ7LH")
    rotational: bool | None = value(
        BOOLEAN, "Whether it says that it spins.", default="it does not say", example="false"
    )


class LabMachine(Model):
    """A virtual machine."""

    name: str | None = value(
        TEXT, "The host of the site that it stands for.", required=True, example="master-0"
    )
    memory_mib: int | None = value(
        MEMORY, "Memory in MiB.", key="memoryMiB", default="that of all machines", example="4096"
    )
    cpus: int | None = value(CPUS, "Processors.", default="those of all machines", example="2")
    firmware: Firmware | None = value(
        choice(Firmware), "What starts it.", default="that of all machines", example="uefi"
    )
    medium: Medium | None = value(
        choice(Medium), "How it gets its image.", default="that of all machines", example="usb"
    )
    disks: Items[LabDisk] = many(
        nested(LabDisk), "Its disks.", default="one that matches the host's rootDeviceHints"
    )


class LabSegment(Model):
    """A network of its own: what is plugged into it reaches nothing else."""

    name: str | None = value(TEXT, "Name of the segment.", required=True, example="storage")
    cards: Items[str] = many(
        TEXT,
        "Cards that are plugged into it: a card's name for that of every host, or HOST/CARD.",
        required=True,
        example="master-0/eno2",
    )


class LabConfig(Model):
    """The lab of a site. All of it is optional; so is the file."""

    memory_mib: int | None = value(
        MEMORY, "Memory of each machine in MiB.", key="memoryMiB", default="2048", example="4096"
    )
    cpus: int | None = value(CPUS, "Processors of each machine.", default="2", example="4")
    firmware: Firmware | None = value(
        choice(Firmware), "What starts the machines.", default="bios", example="uefi"
    )
    medium: Medium | None = value(
        choice(Medium),
        "How the machines get their image: as a CD, a USB stick, a disk, from the network, or not at all.",
        default="cd",
        example="usb",
    )
    services: Items[Service] = many(
        choice(Service),
        "What the lab offers to its machines at its own address.",
        default="none",
        example="dhcp",
    )
    registry_store: str | None = value(
        TEXT,
        "Content store that the lab's registry serves, read-only, seen from this file; it offers one then.",
        key="registryStore",
        default="an empty registry of its own, which machines can push to",
        example="../release",
    )
    segments: Items[LabSegment] = many(
        nested(LabSegment), "Networks apart from the one that all other cards share."
    )
    machines: Items[LabMachine] = many(nested(LabMachine), "Machines that differ from the rest.")
    faults: Items[Fault] = many(
        FAULT, "What is broken from the start.", default="nothing", example="loss:master-0/eno1=20%"
    )
