# SPDX-License-Identifier: Apache-2.0
"""Who a machine is."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.agent.identity import Identity, find_identity
from muster.errors import MusterError
from tests.unit.agent.inventory.machines.kvm import KVM
from tests.unit.agent.inventory.machines.server import SERVER
from tests.unit.agent.inventory.recorded import Recording, card, plant

SERIAL = "sys/class/dmi/id/board_serial"
UUID = "sys/class/dmi/id/product_uuid"
OWN = "4C4C4544-0044-4A10-8059-B4C04F4E5A32"
BY_SERIAL = "bbf2dead-3746-54cb-b32a-917afd236656"
BY_MAC = "02:00:05:00:00:00"


def identify(root: Path, recording: Recording) -> Identity:
    return find_identity(plant(root, recording))


def test_the_board_goes_first(tmp_path: Path) -> None:
    told = identify(tmp_path, SERVER.but({UUID: OWN}))
    assert told == Identity(BY_SERIAL, "serial number of the board", "ABC123")


@pytest.mark.parametrize(
    "serial", ["", " \n", "None", "(none)", "-", "Default string", "To be filled by O.E.M."]
)
def test_a_board_without_a_serial_number(tmp_path: Path, serial: str) -> None:
    told = identify(tmp_path, KVM.but({SERIAL: serial, UUID: f"{OWN}\n"}))
    assert told == Identity(OWN.lower(), "UUID of the system", OWN.lower())


@pytest.mark.parametrize(
    "uuid",
    [
        "",
        "unknown",
        "00000000-0000-0000-0000-000000000000",
        "03000200-0400-0500-0006-000700080009",
        "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
        "4C4C4544-0044-4A10-8059",
    ],
)
def test_a_system_without_a_uuid_of_its_own(tmp_path: Path, uuid: str) -> None:
    told = identify(tmp_path, KVM.but({SERIAL: "Not Specified", UUID: uuid}))
    assert (told.source, told.value) == ("address of a network card", BY_MAC)
    assert told.id == "9948b67b-4b0b-b90e-ac1f-8c0b855d292f"


def test_the_smallest_address_of_a_real_card_counts(tmp_path: Path) -> None:
    cards = {
        "eth0": ("pci0000:00/0000:01:00.0", "02:00:00:00:00:07"),
        "docker0": ("virtual", "02:00:00:00:00:01"),
        "eth1": ("pci0000:00/0000:01:00.1", "02:00:00:00:00:05"),
        "ib0": ("pci0000:00/0000:02:00.0", "garbage"),
        "eth2": ("pci0000:00/0000:01:00.2", "00:00:00:00:00:00"),
    }
    files: dict[str, str] = {}
    links: dict[str, str] = {}
    for name, (place, mac) in cards.items():
        more, link = card(name, place, address=mac)
        files.update(more)
        links.update(link)
    assert identify(tmp_path, Recording(files, links)).value == "02:00:00:00:00:05"


def test_a_bond_does_not_change_who_a_machine_is(tmp_path: Path) -> None:
    files, links = card(
        "eth0", "pci0000:00/0000:01:00.0", address="02:00:00:00:00:09", bonding_slave__perm_hwaddr=BY_MAC
    )
    assert identify(tmp_path, Recording(files, links)).value == BY_MAC


def test_a_machine_that_nothing_tells_apart_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MusterError, match="nothing tells this machine from others") as caught:
        identify(tmp_path, Recording({SERIAL: "None"}))
    assert caught.value.hint
