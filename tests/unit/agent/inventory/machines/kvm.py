# SPDX-License-Identifier: Apache-2.0
"""A virtual machine of KVM with a virtio disk, started from a DVD."""

from __future__ import annotations

from tests.unit.agent.inventory.recorded import Recording, block, card, udev

_CARD, _CARD_LINK = card(
    "enp1s0",
    "pci0000:00/0000:01:00.0/virtio0",
    address="02:00:05:00:00:00",
    carrier="1",
    speed="-1",
    device__vendor="0x1af4",
    device__device="0x0001",
)
_LO, _LO_LINK = card("lo", "virtual", address="00:00:00:00:00:00")

KVM = Recording(
    files={
        "proc/cmdline": (
            "BOOT_IMAGE=/images/pxeboot/vmlinuz coreos.liveiso=muster-os ignition.firstboot"
            " ignition.platform.id=metal\n"
        ),
        "proc/cpuinfo": "processor\t: 0\nmodel name\t: Xeon\ncpu MHz\t\t: 2095.078\n\nprocessor\t: 1\n",
        "proc/meminfo": "MemTotal:       16384000 kB\nMemFree:        1000 kB\n",
        "proc/sys/kernel/hostname": "localhost\n",
        "proc/self/mountinfo": (
            "22 1 0:21 / / rw,relatime shared:1 - overlay muster rw,lowerdir=/run/muster/os\n"
            "23 22 0:22 / /run rw - tmpfs tmpfs rw\n"
            "24 23 11:0 / /run/media/iso ro,relatime shared:9 - iso9660 /dev/sr0 ro\n"
            "25 23 0:23 / /run/muster/state rw - tmpfs muster rw\n"
        ),
        "sys/class/dmi/id/sys_vendor": "Red Hat\n",
        "sys/class/dmi/id/product_name": "KVM\n",
        "sys/class/dmi/id/product_serial": "Not Specified\n",
        "sys/class/dmi/id/product_family": "Red Hat Enterprise Linux\n",
        "sys/bus/pci/devices/0000:00:01.0/class": "0x030000\n",
        "sys/bus/pci/devices/0000:00:01.0/vendor": "0x1af4\n",
        "sys/bus/pci/devices/0000:00:01.0/device": "0x1050\n",
        "sys/bus/pci/devices/0000:01:00.0/class": "0x020000\n",
        **block("loop0", "7:0", 10**9),
        **block("vda", "252:0", 128 * 10**9, queue__rotational="1", device__vendor="0x1af4"),
        **udev("252:0", ID_PATH="pci-0000:04:00.0", ID_PART_TABLE_TYPE="gpt"),
        **block(
            "sr0",
            "11:0",
            1_200_000_000,
            removable="1",
            queue__rotational="1",
            device__vendor="QEMU    ",
            device__model="QEMU DVD-ROM    ",
        ),
        "sys/block/sr0/device/scsi_device/0:0:0:0/uevent": "",
        **udev("11:0", ID_PATH="pci-0000:00:1f.2-ata-1", ID_MODEL="QEMU_DVD-ROM", ID_FS_LABEL="muster-os"),
        **_CARD,
        **_LO,
    },
    links={**_CARD_LINK, **_LO_LINK},
    answers={
        "lscpu -J": {
            "lscpu": [
                {
                    "field": "Architecture:",
                    "data": "x86_64",
                    "children": [{"field": "CPU op-mode(s):", "data": "32-bit, 64-bit"}],
                },
                {"field": "CPU(s):", "data": "8"},
                {
                    "field": "Vendor ID:",
                    "data": "GenuineIntel",
                    "children": [
                        {
                            "field": "Model name:",
                            "data": "Intel Xeon Processor (Icelake)",
                            "children": [{"field": "Flags:", "data": "fpu vme hypervisor avx2"}],
                        }
                    ],
                },
            ]
        },
        "dmidecode -t 17": (
            "# dmidecode 3.6\nHandle 0x1100, DMI type 17, 40 bytes\nMemory Device\n\tSize: 16 GiB\n"
            "\tForm Factor: DIMM\n\tVolatile Size: 16 GiB\n\tLogical Size: None\n"
        ),
        "systemd-detect-virt --vm": "kvm\n",
        "lspci -D -mm -nn": (
            '0000:00:01.0 "VGA compatible controller [0300]" "Red Hat, Inc. [1af4]" "Virtio 1.0 GPU [1050]"'
            ' -r01 -p00 "Red Hat, Inc. [1af4]" "Device [1100]"\n'
        ),
        "ip -j -d address": [
            {
                "ifname": "lo",
                "flags": ["LOOPBACK", "UP", "LOWER_UP"],
                "mtu": 65536,
                "link_type": "loopback",
                "address": "00:00:00:00:00:00",
                "addr_info": [{"family": "inet", "local": "127.0.0.1", "prefixlen": 8}],
            },
            {
                "ifname": "enp1s0",
                "flags": ["BROADCAST", "MULTICAST", "UP", "LOWER_UP"],
                "mtu": 1500,
                "link_type": "ether",
                "address": "02:00:05:00:00:00",
                "addr_info": [
                    {"family": "inet", "local": "192.0.2.10", "prefixlen": 24, "scope": "global"},
                    {"family": "inet6", "local": "2001:db8:1::a", "prefixlen": 128, "scope": "global"},
                    {"family": "inet6", "local": "fe80::5ff:fe00:0", "prefixlen": 64, "scope": "link"},
                ],
            },
        ],
        "ip -j -4 route show table main": [
            {"dst": "default", "gateway": "192.0.2.1", "dev": "enp1s0", "metric": 100, "flags": []},
            {"dst": "192.0.2.0/24", "dev": "enp1s0", "protocol": "kernel", "metric": 100, "flags": []},
        ],
        "ip -j -6 route show table main": [
            {"dst": "2001:db8:1::a", "dev": "enp1s0", "protocol": "kernel", "metric": 100},
            {"dst": "2001:db8:1::/64", "dev": "enp1s0", "protocol": "ra", "metric": 100},
            {"dst": "default", "gateway": "fe80::1", "dev": "enp1s0", "protocol": "ra", "metric": 100},
        ],
        "od -A n -t x1 -j 510 -N 2 /dev/vda": " 55 aa\n",
        "od -A n -t x1 -j 510 -N 2 /dev/sr0": " 00 00\n",
        "lsblk -J": {
            "blockdevices": [
                {"name": "loop0", "kname": "loop0", "path": "/dev/loop0", "type": "loop"},
                {
                    "name": "sr0",
                    "kname": "sr0",
                    "path": "/dev/sr0",
                    "type": "rom",
                    "fstype": "iso9660",
                    "label": "muster-os",
                    "mountpoints": ["/run/media/iso"],
                },
                {
                    "name": "vda",
                    "kname": "vda",
                    "path": "/dev/vda",
                    "type": "disk",
                    "fstype": None,
                    "pttype": "gpt",
                    "mountpoints": [None],
                },
            ]
        },
        "pvs": {"report": [{"pv": []}]},
    },
)
