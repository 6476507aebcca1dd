# SPDX-License-Identifier: Apache-2.0
"""Machine → the arguments of QEMU. Paths are relative to the machine's folder, where QEMU is started."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

from muster.frozen import dataclass
from muster.lab.plan import Disk, Machine
from muster.model.lab import Bus, Firmware, Medium

REPORT_PORT: Final = "org.muster.report"
"""The virtio-serial port that guests write their health to."""
SERIAL_SOCKET: Final = "serial.sock"
SERIAL_RAW: Final = "serial.raw"
REPORT_SOCKET: Final = "report.sock"
COMMAND_SOCKET: Final = "qmp.sock"
EVENT_SOCKET: Final = "events.sock"
PID_FILE: Final = "qemu.pid"
VARIABLES_FILE: Final = "vars.fd"
QEMU_LOG: Final = "qemu.log"
CD: Final = "cd0"
STICK: Final = "usb0"
BESIDE: Final = "usb1"
"""A second stick, which no machine boots from."""
STICK_BUS: Final = "xhci.0"
MEDIUM_DEVICE: Final = "medium-dev"
MEDIUM_BUS: Final = "port0"
"""Where a disk can be plugged in while the machine runs."""
_CD_BUS: Final = "ide.5"
"""The last port, so that disks can have the first ones."""
_OWN_AHCI: Final = "1f.2"
"""Where q35 has a SATA controller of its own."""


class BootTarget(StrEnum):
    """What a machine is to boot from, where that is not the first disk that boots, then the medium."""

    DISK = "disk"
    MEDIUM = "medium"
    NETWORK = "network"


@dataclass(frozen=True)
class Emulator:
    """The QEMU that is used, and how it runs guests."""

    argv: tuple[str, ...]
    accel: str
    """kvm or tcg"""
    accel_arguments: tuple[str, ...]
    code: str = ""
    """OVMF's code; empty when no machine wants it."""


@dataclass(frozen=True)
class UserNet:
    """A network that is QEMU's own, for one machine: its shape, and the local port that leads to SSH."""

    ssh_port: int
    network: str = ""
    gateway: str = ""
    guest: str = ""
    network6: str = ""
    tftp: str = ""
    """A folder that the machine may boot from."""
    bootfile: str = ""


@dataclass(frozen=True)
class Boot:
    """How a machine is started this time."""

    medium: Path | None = None
    beside: Path | None = None
    clock: str = ""
    """What the hardware clock says; empty for the time of today."""
    target: BootTarget | None = None
    user_net: UserNet | None = None


def render_argv(machine: Machine, emulator: Emulator, boot: Boot) -> list[str]:
    """The command line that starts a machine, paused, in the background."""
    order = boot_order(machine, boot)
    return [
        *emulator.argv,
        *("-name", machine.name, "-uuid", str(machine_id(machine))),
        *("-machine", "q35", *emulator.accel_arguments),
        *("-smp", str(machine.cpus), "-m", str(machine.memory_mib)),
        *("-nodefaults", "-no-user-config", "-display", "none", "-device", "VGA", "-boot", "strict=on"),
        *("-rtc", f"base={boot.clock or 'utc'}"),
        *_firmware(machine, emulator),
        *_consoles(),
        *_nics(machine, boot, order),
        *_disks(machine.disks, order),
        *_medium(machine, boot, order),
        *("-device", "virtio-rng-pci", "-D", QEMU_LOG, "-pidfile", PID_FILE, "-daemonize", "-S"),
    ]


def machine_id(machine: Machine) -> uuid.UUID:
    """The machine's UUID: the same whenever it is made of the same cards."""
    macs = ",".join(nic.mac_address for nic in machine.nics)
    return uuid.uuid5(uuid.NAMESPACE_OID, f"{machine.name} {macs}")


def _firmware(machine: Machine, emulator: Emulator) -> Iterator[str]:
    if machine.firmware is Firmware.UEFI:
        yield from ("-drive", f"if=pflash,unit=0,format=raw,readonly=on,file={_escape(emulator.code)}")
        yield from ("-drive", f"if=pflash,unit=1,format=raw,file={VARIABLES_FILE}")


def _consoles() -> Iterator[str]:
    """Serial line, report port and two monitors: one for commands, one that the recorder listens to."""
    listening = "server=on,wait=off"
    yield from (
        "-chardev",
        f"socket,id=serial0,path={SERIAL_SOCKET},{listening},logfile={SERIAL_RAW},logappend=on",
    )
    yield from ("-serial", "chardev:serial0")
    yield from ("-chardev", f"socket,id=report0,path={REPORT_SOCKET},{listening}")
    yield from (
        "-device",
        "virtio-serial-pci",
        "-device",
        f"virtserialport,chardev=report0,name={REPORT_PORT}",
    )
    for number, path in enumerate((COMMAND_SOCKET, EVENT_SOCKET)):
        yield from ("-chardev", f"socket,id=qmp{number},path={path},{listening}")
        yield from ("-mon", f"chardev=qmp{number},mode=control")


def _nics(machine: Machine, boot: Boot, order: Mapping[str, int]) -> Iterator[str]:
    for number, nic in enumerate(machine.nics):
        if boot.user_net is not None:
            yield from ("-netdev", _user_netdev(boot.user_net, number))
        else:
            yield from ("-netdev", f"tap,id=net{number},ifname={nic.tap},script=no,downscript=no")
        name = nic_device(number)
        # Without its ROM a card cannot boot, and the firmware loses no time with it.
        rom = f"bootindex={order[name]}" if name in order else "romfile="
        yield from ("-device", f"virtio-net-pci,id={name},netdev=net{number},mac={nic.mac_address},{rom}")


def _user_netdev(net: UserNet, number: int) -> str:
    if number:
        return f"user,id=net{number},restrict=on"  # One card has the host's network; others have none of it.
    words = [f"user,id=net{number}"]
    if net.network:
        words.append(f"net={net.network}")
    if net.gateway:
        words.append(f"host={net.gateway}")
    if net.network6:
        prefix, _, length = net.network6.partition("/")
        words.append(f"ipv6-prefix={prefix},ipv6-prefixlen={length}")
    if net.tftp:
        words.append(f"tftp={_escape(net.tftp)},bootfile={_escape(net.bootfile)}")
    return ",".join([*words, f"hostfwd=tcp:127.0.0.1:{net.ssh_port}-{net.guest}:22"])


def boot_order(machine: Machine, boot: Boot, *, first: int = 1) -> dict[str, int]:
    """In which order the firmware tries devices: disks, then the medium, then the network if it may."""
    medium = [CD]
    if boot.medium is not None and machine.medium in (Medium.USB, Medium.DISK):
        medium = [STICK if machine.medium is Medium.USB else MEDIUM_DEVICE, CD]
    groups = {
        BootTarget.DISK: [disk_device(disk) for disk in machine.disks],
        BootTarget.MEDIUM: medium,
        BootTarget.NETWORK: [nic_device(number) for number in range(len(machine.nics))],
    }
    if machine.medium is not Medium.PXE and boot.target is not BootTarget.NETWORK:
        del groups[BootTarget.NETWORK]
    order = sorted(groups, key=lambda group: group is not boot.target)
    return {device: first + at for at, device in enumerate(each for group in order for each in groups[group])}


def disk_device(disk: Disk) -> str:
    """What QEMU calls a disk's device."""
    return f"{disk.name}-dev"


def nic_device(number: int) -> str:
    """What QEMU calls a card's device."""
    return f"nic{number}"


def disk_file(disk: Disk) -> str:
    """The file that holds a disk: raw and sparse, so that no program is needed to make it."""
    return f"{disk.name}.img"


def _disks(disks: Sequence[Disk], order: Mapping[str, int]) -> Iterator[str]:
    if any(disk.bus is Bus.SCSI for disk in disks):
        yield from ("-device", "virtio-scsi-pci,id=scsi0")
    for slot in sorted({disk.slot for disk in disks if disk.slot and disk.slot != _OWN_AHCI}):
        yield from ("-device", f"ich9-ahci,id=ahci-{slot},addr={slot}")
    for number, disk in enumerate(disks):
        # The lab's disks need not survive a power cut of the machine that runs the lab.
        file = f"driver=file,filename={disk_file(disk)},cache.no-flush=on,discard=unmap"
        yield from ("-blockdev", f"node-name={disk.name}-file,{file}")
        yield from ("-blockdev", f"driver=raw,node-name={disk.name},file={disk.name}-file,discard=unmap")
        name = disk_device(disk)
        words = [*_disk_words(disk, number), f"drive={disk.name}", f"id={name}", f"bootindex={order[name]}"]
        yield from ("-device", ",".join(words))


def _disk_words(disk: Disk, number: int) -> Iterator[str]:
    match disk.bus:
        case Bus.VIRTIO:
            yield "virtio-blk-pci"
        case Bus.NVME:
            yield "nvme"
        case Bus.SCSI:
            yield f"scsi-hd,bus=scsi0.0,scsi-id={number},lun=0"
        case Bus.SATA:
            bus = f"ahci-{disk.slot}" if disk.slot and disk.slot != _OWN_AHCI else "ide"
            yield f"ide-hd,bus={bus}.{disk.port}"
    if disk.bus is not Bus.NVME:
        yield "werror=report,rerror=report"
    yield from (f"{key}={_escape(text)}" for key, text in _identity(disk) if text)


def _identity(disk: Disk) -> Iterator[tuple[str, str]]:
    yield "serial", disk.serial
    yield "wwn", disk.wwn
    yield "vendor", disk.vendor
    yield ("model" if disk.bus is Bus.SATA else "product"), disk.product
    if disk.rotational is not None:
        yield "rotation_rate", "7200" if disk.rotational else "1"


def _medium(machine: Machine, boot: Boot, order: Mapping[str, int]) -> Iterator[str]:
    """The image to boot. A CD drive is always there, and so are sockets, for what is inserted later."""
    in_drive = machine.medium not in (Medium.USB, Medium.DISK)
    if boot.medium is not None:
        name = _escape(str(boot.medium))
        yield from ("-blockdev", f"driver=file,node-name=medium-file,filename={name},read-only=on")
        yield from ("-blockdev", "driver=raw,node-name=medium,file=medium-file,read-only=on")
    drive = ",drive=medium" if boot.medium is not None and in_drive else ""
    yield from ("-device", f"ide-cd,bus={_CD_BUS},id={CD},bootindex={order[CD]}{drive}")
    yield from ("-device", "qemu-xhci,id=xhci", "-device", f"pcie-root-port,id={MEDIUM_BUS},chassis=1")
    if STICK in order:
        stick = f"usb-storage,bus={STICK_BUS},id={STICK},drive=medium,removable=on"
        yield from ("-device", f"{stick},bootindex={order[STICK]}")
    if MEDIUM_DEVICE in order:
        disk = f"virtio-blk-pci,bus={MEDIUM_BUS},id={MEDIUM_DEVICE},drive=medium"
        yield from ("-device", f"{disk},bootindex={order[MEDIUM_DEVICE]}")
    if boot.beside is not None:
        name = _escape(str(boot.beside))
        yield from ("-blockdev", f"driver=file,node-name=beside-file,filename={name},read-only=on")
        yield from ("-blockdev", "driver=raw,node-name=beside,file=beside-file,read-only=on")
        yield from ("-device", f"usb-storage,bus={STICK_BUS},id={BESIDE},drive=beside,removable=on")


def _escape(text: str) -> str:
    """A value in a list with commas."""
    return text.replace(",", ",,")
