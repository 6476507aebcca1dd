# SPDX-License-Identifier: Apache-2.0
"""What a host is made of, as its agent tells it."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import field

from muster.model.wire.enums import DriveType, MemoryMethod, SecureBootState
from muster.model.wire.extras import Extras
from muster.model.wire.struct import Wire, about


class Boot(Wire, frozen=True, kw_only=True):
    """How a host was started."""

    current_boot_mode: str | None = None
    pxe_interface: str | None = None
    command_line: str | None = None
    secure_boot_state: SecureBootState | None = None
    device_type: Literal["persistent", "ephemeral"] | None = None


class Cpu(Wire, frozen=True, kw_only=True):
    """The processors of a host."""

    count: int | None = None
    frequency: Annotated[float | None, about("MHz.")] = None
    flags: tuple[str, ...] | None = None
    model_name: str | None = None
    architecture: str | None = None


class DiskInstallationEligibility(Wire, frozen=True, kw_only=True):
    """Whether a disk can be installed to, and why not."""

    eligible: bool | None = None
    not_eligible_reasons: tuple[str, ...] | None = None


class IoPerf(Wire, frozen=True, kw_only=True):
    """How quickly a disk stores something for good."""

    sync_duration: Annotated[int | None, about("Milliseconds.")] = None


class Iscsi(Wire, frozen=True, kw_only=True):
    """How a disk that is reached over the network is reached."""

    host_ip_address: str | None = None


class Disk(Wire, frozen=True, kw_only=True):
    """A disk of a host."""

    id: str | None = None
    drive_type: DriveType | None = None
    has_uuid: bool | None = None
    vendor: str | None = None
    name: str | None = None
    path: str | None = None
    hctl: str | None = None
    by_path: str | None = None
    by_id: str | None = None
    model: str | None = None
    wwn: str | None = None
    serial: str | None = None
    size_bytes: int | None = None
    bootable: bool | None = None
    removable: bool | None = None
    partition_types: str | None = field(default=None, name="partitionTypes")
    is_installation_media: bool | None = None
    installation_eligibility: DiskInstallationEligibility | None = None
    smart: Annotated[str | None, about("What the disk says about its own health, as JSON in a string.")] = (
        None
    )
    io_perf: Annotated[IoPerf | None, about("The last measurement.")] = None
    holders: str | None = None
    iscsi: Iscsi | None = None


class Gpu(Wire, frozen=True, kw_only=True):
    """A graphics processor of a host."""

    vendor: str | None = None
    vendor_id: str | None = None
    device_id: str | None = None
    name: str | None = None
    address: str | None = None


class Interface(Wire, frozen=True, kw_only=True):
    """A network interface of a host."""

    ipv6_addresses: Annotated[tuple[str, ...] | None, about("Addresses with the length of their prefix.")] = (
        None
    )
    vendor: str | None = None
    name: str | None = None
    has_carrier: bool | None = None
    product: str | None = None
    mtu: int | None = None
    ipv4_addresses: Annotated[tuple[str, ...] | None, about("Addresses with the length of their prefix.")] = (
        None
    )
    biosdevname: str | None = None
    client_id: str | None = None
    mac_address: str | None = None
    flags: tuple[str, ...] | None = None
    speed_mbps: int | None = None
    type: str | None = None


class InventoryTruncation(Wire, frozen=True, kw_only=True):
    """That something was left out of an inventory because it was too large."""

    type: Literal["partial", "full"]
    reasons: tuple[str, ...] | None = None


class Memory(Wire, frozen=True, kw_only=True):
    """The memory of a host."""

    physical_bytes: Annotated[int | None, about("What is built in.")] = None
    usable_bytes: Annotated[int | None, about("What the running system can use.")] = None
    physical_bytes_method: MemoryMethod | None = None


class Route(Wire, frozen=True, kw_only=True):
    """A route of a host."""

    interface: str | None = None
    gateway: str | None = None
    destination: str | None = None
    family: Annotated[int | None, about("Number of the address family: 2 is IPv4, 10 is IPv6.")] = None
    metric: int | None = None


class SystemVendor(Wire, frozen=True, kw_only=True):
    """Who made a host."""

    serial_number: str | None = None
    product_name: str | None = None
    manufacturer: str | None = None
    virtual: bool | None = None


class Inventory(Wire, frozen=True, kw_only=True):
    """What a host is made of."""

    hostname: str | None = None
    bmc_address: str | None = None
    interfaces: tuple[Interface, ...] | None = None
    disks: tuple[Disk, ...] | None = None
    boot: Boot | None = None
    system_vendor: SystemVendor | None = None
    bmc_v6address: str | None = None
    memory: Memory | None = None
    cpu: Cpu | None = None
    gpus: tuple[Gpu, ...] | None = None
    routes: tuple[Route, ...] | None = None
    tpm_version: Literal["none", "1.2", "2.0"] | None = None
    truncation: InventoryTruncation | None = None
    extras: Annotated[
        Extras | None, about("Beyond the interface: neighbours, how interfaces are made, what is on disks.")
    ] = None
