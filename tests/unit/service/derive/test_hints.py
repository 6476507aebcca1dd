# SPDX-License-Identifier: Apache-2.0
"""Which disks hints mean."""

from __future__ import annotations

from typing import Any

import pytest

from muster.config.check import check_folder
from muster.config.document.folder import Memory
from muster.model.host import RootDeviceHints
from muster.model.site import Environment
from muster.model.wire.inventory import Disk
from muster.service.derive.hints import matching_disks
from tests.sites import Shape, build_site

DISKS = (
    Disk(id="a", name="sda", path="/dev/sda", hctl="0:0:0:0",
         by_path="/dev/disk/by-path/pci-0000:00:17.0-ata-1.0", drive_type="HDD", size_bytes=200 * 10**9,
         vendor="ATA", model="ST4000NM", serial="S1", wwn="0x5000c500a1b2c3d4"),
    Disk(id="b", name="nvme0n1", path="/dev/nvme0n1", by_path="/dev/disk/by-path/pci-0000:01:00.0-nvme-1",
         drive_type="SSD", size_bytes=1000 * 10**9, vendor="Dell", model="PERC H730", serial="S2"),
)  # fmt: skip


def hints(text: str) -> RootDeviceHints:
    """Hints as a file has them."""
    files = build_site(Shape(masters=1, platform="none"))
    agent = (files["agent-config.yaml"] or b"").decode()
    found, _ = check_folder(
        Memory({**files, "agent-config.yaml": f"{agent}  rootDeviceHints: {{{text}}}\n".encode()}, None),
        Environment(),
    )
    given = found.hosts[0].host.root_device_hints
    assert given is not None
    return given


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("deviceName: '/dev/disk/by-path/pci-0000:00:17.0-ata-1'", "a"),
        ("deviceName: '/dev/disk/by-path/pci-0000:00:17.0-ata-1.0'", "a"),
        ("deviceName: '/dev/disk/by-path/pci-0000:00:17.0-ata-2'", ""),
        ("deviceName: /dev/sda", "a"),
        ("deviceName: /dev/disk/by-path/pci-0000:01:00.0-nvme-1", "b"),
        ("hctl: '0:0:0:0'", "a"),
        ("model: perc", "b"),
        ("vendor: ata", "a"),
        ("serialNumber: S2", "b"),
        ("serialNumber: S", ""),
        ("minSizeGigabytes: 150", "ab"),
        ("minSizeGigabytes: 500", "b"),
        ("wwn: '0x5000C500A1B2C3D4'", "a"),
        ("rotational: true", "a"),
        ("rotational: false", "b"),
        ("rotational: false, minSizeGigabytes: 2000", ""),
        ("model: perc, vendor: ata", ""),
    ],
)
def test_disks_match_all_hints(text: str, meant: str) -> None:
    found: list[Any] = matching_disks(hints(text), DISKS)
    assert "".join(disk.id for disk in found) == meant
