# SPDX-License-Identifier: Apache-2.0
"""What a host is made of, as its agent tells it."""

from __future__ import annotations

from typing import Literal

from msgspec import field

from muster.model.wire.enums import DriveType, MemoryMethod, SecureBootState
from muster.model.wire.struct import Wire


class Boot(Wire):
    """TODO"""

    current_boot_mode: str | None = None
    pxe_interface: str | None = None
    command_line: str | None = None
    secure_boot_state: SecureBootState | None = None
    device_type: Literal["persistent", "ephemeral"] | None = None


class Cpu(Wire):
    """TODO"""

    count: int | None = None
    frequency: float | None = None
    flags: tuple[str, ...] | None = None
    model_name: str | None = None
    architecture: str | None = None


class DiskInstallationEligibility(Wire):
    """TODO"""

    eligible: bool | None = None
    not_eligible_reasons: tuple[str, ...] | None = None


class IoPerf(Wire):
    """TODO"""

    sync_duration: int | None = None


class Iscsi(Wire):
    """TODO"""

    host_ip_address: str | None = None


class Disk(Wire):
    """TODO"""

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
    smart: str | None = None
    io_perf: IoPerf | None = None
    holders: str | None = None
    iscsi: Iscsi | None = None


class Gpu(Wire):
    """TODO"""

    vendor: str | None = None
    vendor_id: str | None = None
    device_id: str | None = None
    name: str | None = None
    address: str | None = None


class Interface(Wire):
    """TODO"""

    ipv6_addresses: tuple[str, ...] | None = None
    vendor: str | None = None
    name: str | None = None
    has_carrier: bool | None = None
    product: str | None = None
    mtu: int | None = None
    ipv4_addresses: tuple[str, ...] | None = None
    biosdevname: str | None = None
    client_id: str | None = None
    mac_address: str | None = None
    flags: tuple[str, ...] | None = None
    speed_mbps: int | None = None
    type: str | None = None


class InventoryTruncation(Wire):
    """TODO"""

    type: Literal["partial", "full"]
    reasons: tuple[str, ...] | None = None


class Memory(Wire):
    """TODO"""

    physical_bytes: int | None = None
    usable_bytes: int | None = None
    physical_bytes_method: MemoryMethod | None = None


class Route(Wire):
    """TODO"""

    interface: str | None = None
    gateway: str | None = None
    destination: str | None = None
    family: int | None = None
    metric: int | None = None


class SystemVendor(Wire):
    """TODO"""

    serial_number: str | None = None
    product_name: str | None = None
    manufacturer: str | None = None
    virtual: bool | None = None


class Inventory(Wire):
    """TODO"""

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
