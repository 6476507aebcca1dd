# SPDX-License-Identifier: Apache-2.0
"""The arguments of QEMU, exactly, and what changes with the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.lab.plan import GIB, Disk, Machine, Nic
from muster.lab.qemu import Boot, BootTarget, Emulator, UserNet, boot_order, render_argv
from muster.model.lab import Bus, Firmware, Medium
from tests.conftest import Golden

HERE = Path(__file__).parent
TCG = Emulator(("qemu-system-x86_64",), "tcg", ("-accel", "tcg", "-cpu", "Westmere"), "/ovmf/code.fd")
NIC = Nic("eno1", "52:54:00:aa:00:01", "main", "m0n0")
VIRTIO = Disk("disk0", 20 * GIB, Bus.VIRTIO, "S1,2")


def machine(
    *disks: Disk,
    firmware: Firmware = Firmware.BIOS,
    medium: Medium = Medium.CD,
    nics: tuple[Nic, ...] = (NIC,),
) -> Machine:
    return Machine("a", "master", 2048, 2, firmware, medium, nics, disks or (VIRTIO,))


SCSI = Disk("disk0", 1, Bus.SCSI, "S", "0x5002538e40a2b3c4", "ATA", "SAMSUNG", rotational=False)
CASES = {
    "plain": (machine(), Boot(Path("/site/agent.x86_64.iso"))),
    "uefi-usb": (machine(firmware=Firmware.UEFI, medium=Medium.USB), Boot(Path("/a.iso"))),
    "scsi-nvme-sata": (
        machine(
            SCSI,
            Disk("disk1", 1, Bus.NVME, "N"),
            Disk("disk2", 1, Bus.SATA, "T", slot="17.0", port=1, rotational=True),
        ),
        Boot(clock="1970-01-01T00:00:00"),
    ),
    "pxe-user": (
        machine(medium=Medium.PXE),
        Boot(
            user_net=UserNet(
                2222, "192.0.2.0/24", "192.0.2.1", "192.0.2.10", tftp="/files", bootfile="a.ipxe"
            )
        ),
    ),
    "beside": (machine(), Boot(Path("/a.iso"), beside=Path("/site/agentconfig,1.iso"))),
    "disk-medium": (machine(medium=Medium.DISK), Boot(Path("/a.iso"), target=BootTarget.MEDIUM)),
}


@pytest.mark.parametrize("name", CASES)
def test_arguments(name: str, golden: Golden) -> None:
    argv = render_argv(*CASES[name][:1], TCG, CASES[name][1])
    lines: list[str] = []
    for word in argv:
        if word.startswith("-") or not lines:
            lines.append(word)
        else:
            lines[-1] += f" {word}"
    golden(HERE / "argv" / f"{name}.txt", "\n".join(lines) + "\n")


def test_disks_come_first_and_the_network_only_when_it_is_meant() -> None:
    one = machine(VIRTIO, Disk("disk1", 1))
    assert boot_order(one, Boot(Path("/a"))) == {"disk0-dev": 1, "disk1-dev": 2, "cd0": 3}
    assert boot_order(one, Boot(target=BootTarget.NETWORK)) == {
        "nic0": 1, "disk0-dev": 2, "disk1-dev": 3, "cd0": 4,
    }  # fmt: skip
    assert list(boot_order(one, Boot(target=BootTarget.MEDIUM))) == ["cd0", "disk0-dev", "disk1-dev"]
    stick = machine(medium=Medium.USB)
    assert list(boot_order(stick, Boot(Path("/a")))) == ["disk0-dev", "usb0", "cd0"]
    assert list(boot_order(stick, Boot())) == ["disk0-dev", "cd0"]
    assert list(boot_order(machine(medium=Medium.PXE), Boot())) == ["disk0-dev", "cd0", "nic0"]
