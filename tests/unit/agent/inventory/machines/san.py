# SPDX-License-Identifier: Apache-2.0
"""An installed machine: LVM on a local disk, one LUN by two paths with LVM on it, and an iSCSI disk."""

from __future__ import annotations

from tests.unit.agent.inventory.recorded import Recording, block, udev

_WWN = "0x624a93700a1b2c3d00000001"
_TARGET = "iqn.1992-08.com.example:sn.a1b2"


def _path(name: str, number: str, port: int) -> dict[str, str]:
    return {
        **block(
            name,
            number,
            549_755_813_888,
            device__vendor="PURE    ",
            device__state="running",
            device__wwid="naa.624a93700a1b2c3d00000001",
        ),
        f"sys/block/{name}/holders/dm-0/uevent": "",
        f"sys/block/{name}/device/scsi_device/14:0:{port}:1/uevent": "",
        **udev(
            number,
            ID_MODEL="FlashArray",
            ID_SCSI_SERIAL="624A93700A1B2C3D00000001",
            ID_WWN=_WWN[:18],
            ID_WWN_WITH_EXTENSION=_WWN,
            ID_PATH=f"pci-0000:af:00.0-fc-0x524a937a0000000{port}-lun-1",
        ),
    }


_LUN = {
    "name": "mpatha",
    "kname": "dm-0",
    "path": "/dev/mapper/mpatha",
    "type": "mpath",
    "fstype": "LVM2_member",
    "children": [
        {"name": "data-pg", "kname": "dm-3", "path": "/dev/mapper/data-pg", "type": "lvm", "fstype": "xfs"}
    ],
}

SAN = Recording(
    files={
        "proc/cmdline": "BOOT_IMAGE=/vmlinuz muster.boot=1234\n",
        "proc/cpuinfo": "processor\t: 0\n",
        "proc/meminfo": "MemTotal:       270000000 kB\n",
        "proc/sys/kernel/hostname": "san-0\n",
        "proc/self/mountinfo": (
            "22 1 0:21 / / rw - overlay muster rw\n"
            "25 22 253:1 / /var/lib/my\\040data rw - xfs /dev/mapper/vg0-root rw\n"
            "26 22 0:44 /sub /srv rw - btrfs /dev/sdb2 rw\n"
        ),
        **block("sda", "8:0", 480_103_981_056, device__vendor="ATA     ", device__wwid="naa.5002538f33"),
        "sys/block/sda/device/scsi_device/7:0:0:0/uevent": "",
        "sys/block/sda/sda1/partition": "1\n",
        "sys/block/sda/sda1/dev": "8:1\n",
        "sys/block/sda/sda1/holders/dm-1/uevent": "",
        **udev(
            "8:0", ID_MODEL="MZ7L3480", ID_SERIAL_SHORT="S6KLNN0T000001", ID_PATH="pci-0000:03:00.0-ata-1"
        ),
        **block("sdb", "8:16", 960 * 10**9),
        "sys/block/sdb/sdb2/partition": "2\n",
        "sys/block/sdb/sdb2/dev": "8:18\n",
        **udev("8:16", ID_SERIAL_SHORT="S6KLNN0T000002", ID_PATH="pci-0000:03:00.0-ata-1"),
        **_path("sdc", "8:32", 0),
        **_path("sdd", "8:48", 1),
        **block("dm-0", "253:0", 549_755_813_888, dm__uuid="mpath-3624a93700a1b2c3d", dm__name="mpatha"),
        "sys/block/dm-0/slaves/sdc/uevent": "",
        "sys/block/dm-0/slaves/sdd/uevent": "",
        **udev("253:0", DM_NAME="mpatha"),
        **block("dm-1", "253:1", 100 * 10**9, dm__uuid="LVM-abc", dm__name="vg0-root"),
        **block("dm-2", "253:2", 10**9, dm__uuid="CRYPT-LUKS2-abc", dm__name="secret"),
        **block("sde", "8:64", 214_748_364_800, device__state="running", ro="1"),
        "sys/block/sde/device/scsi_device/8:0:0:0/uevent": "",
        **udev("8:64", ID_PATH=f"ip-198.51.100.2:3260-iscsi-{_TARGET}-lun-0"),
        "sys/class/iscsi_host/host8/ipaddress": "198.51.100.10\n",
        "sys/class/iscsi_host/host7/ipaddress": "198.51.100.11\n",
        "sys/firmware/ibft/target0/target-name": f"{_TARGET}\n",
    },
    links={
        f"dev/disk/by-id/wwn-{_WWN}": "../../dm-0",
        "dev/disk/by-id/wwn-0x5002538f3300000002": "../../sda",
        "dev/disk/by-id/wwn-0x5002538f3300000003": "../../sda",
        "dev/disk/by-id/ata-MZ7L3480_S6KLNN0T000001": "../../sda",
    },
    answers={
        "od": " 00 00\n",
        "smartctl": '{"smartctl":{"exit_status":2}}',
        "lsblk -J": {
            "blockdevices": [
                {
                    "name": "sda",
                    "kname": "sda",
                    "path": "/dev/sda",
                    "type": "disk",
                    "pttype": "gpt",
                    "children": [
                        {
                            "name": "sda1",
                            "kname": "sda1",
                            "path": "/dev/sda1",
                            "type": "part",
                            "fstype": "LVM2_member",
                            "children": [
                                {
                                    "name": "vg0-root",
                                    "kname": "dm-1",
                                    "path": "/dev/mapper/vg0-root",
                                    "type": "lvm",
                                    "fstype": "xfs",
                                    "mountpoints": ["/var/lib/my data"],
                                }
                            ],
                        }
                    ],
                },
                {
                    "name": "sdc",
                    "kname": "sdc",
                    "path": "/dev/sdc",
                    "type": "disk",
                    "fstype": "mpath_member",
                    "children": [_LUN],
                },
                {
                    "name": "sdd",
                    "kname": "sdd",
                    "path": "/dev/sdd",
                    "type": "disk",
                    "fstype": "mpath_member",
                    "children": [_LUN],
                },
            ]
        },
        "pvs": {
            "report": [
                {
                    "pv": [
                        {"pv_name": "/dev/sda1", "vg_name": "vg0"},
                        {"pv_name": "/dev/mapper/mpatha", "vg_name": "data"},
                        {"pv_name": "/dev/sdz", "vg_name": ""},
                    ]
                }
            ]
        },
    },
)
