# SPDX-License-Identifier: Apache-2.0
"""What a user says about one machine: its name, role, network cards, disk and static network."""

from __future__ import annotations

from enum import StrEnum

from muster.model.schema import Items, Model, many, nested, value
from muster.model.tree import Node
from muster.model.values import (
    BOOLEAN,
    HOSTNAME,
    MAC_ADDRESS,
    NMSTATE,
    SECRET,
    TEXT,
    Secret,
    choice,
    number,
)


class Role(StrEnum):
    """What a host becomes."""

    MASTER = "master"
    WORKER = "worker"
    ARBITER = "arbiter"


class RootDeviceHints(Model):
    """Which disk to install on. A disk has to match all hints that are given."""

    alone = ("deviceName", "/dev/.+")

    device_name: str | None = value(
        TEXT,
        "Path of the disk: /dev/sda, or below /dev/disk/by-path/.",
        example="/dev/disk/by-path/pci-0000:00:1f.2-ata-1",
    )
    hctl: str | None = value(TEXT, "SCSI address Host:Channel:Target:Lun.", example="0:0:0:0")
    model: str | None = value(TEXT, "A part of the model that the disk reports.", example="PERC")
    vendor: str | None = value(TEXT, "A part of the vendor that the disk reports.", example="DELL")
    serial_number: str | None = value(TEXT, "The disk's serial number, exactly.", example="S4EVNX0M123456")
    min_size_gigabytes: int | None = value(
        number(1, why="A disk has a size."),
        "The smallest size that is accepted, in gigabytes.",
        example="120",
    )
    wwn: str | None = value(TEXT, "The disk's World Wide Name, exactly.", example="0x5002538e40a2b3c4")
    wwn_with_extension: str | None = value(
        TEXT, "World Wide Name with vendor extension.", forbidden="hosts do not report it; use wwn"
    )
    wwn_vendor_extension: str | None = value(
        TEXT, "Vendor extension of the World Wide Name.", forbidden="hosts do not report it; use wwn"
    )
    rotational: bool | None = value(
        BOOLEAN, "Whether the disk spins (true) or is solid state (false).", example="false"
    )


class BMC(Model):
    """The management controller of a machine."""

    address: str | None = value(
        TEXT, "How to reach the controller.", example="redfish+https://192.0.2.60/redfish/v1/Systems/1"
    )
    username: str | None = value(TEXT, "Login name at the controller.", example="admin")
    password: Secret | None = value(SECRET, "Password at the controller.")
    disable_certificate_verification: bool | None = value(
        BOOLEAN, "Accept any certificate of the controller.", default="false"
    )


class Interface(Model):
    """A network card: the name that the network configuration uses, and the address that identifies it."""

    name: str | None = value(
        TEXT, "Name used in networkConfig; the real card is found by its MAC address.", example="eno1"
    )
    mac_address: str | None = value(
        MAC_ADDRESS,
        "The card's MAC address; hosts find their settings by it.",
        required=True,
        example="52:54:00:ab:cd:ef",
    )


class Host(Model):
    """One machine of the site."""

    hostname: str | None = value(
        HOSTNAME, "Name that the host gets.", default="what DHCP or reverse DNS says", example="master-0"
    )
    role: Role | None = value(
        choice(Role),
        "What the host becomes.",
        default="masters first, then arbiters, then workers",
        example="master",
    )
    interfaces: Items[Interface] = many(
        nested(Interface), "The host's network cards, at least one.", required=True
    )
    root_device_hints: RootDeviceHints | None = value(
        nested(RootDeviceHints), "Which disk to install on.", default="the first disk that fits"
    )
    network_config: Node | None = value(
        NMSTATE, "Static network of the host, as an NMState document.", default="DHCP on all cards"
    )
    bmc: BMC | None = value(nested(BMC), "The host's management controller.", key="BMC")
