# SPDX-License-Identifier: Apache-2.0
"""A server with two NVMe disks, a bond of two cards and a VLAN on it, started over the network."""

from __future__ import annotations

from tests.unit.agent.inventory.recorded import Recording, block, card, udev

_CARDS = {
    "ens1f0": ("pci0000:40/0000:41:00.0", "02:00:0b:00:00:00"),
    "ens1f1": ("pci0000:40/0000:41:00.1", "02:00:0b:00:00:01"),
}
_FILES: dict[str, str] = {}
_LINKS: dict[str, str] = {}
for _name, (_place, _burnt_in) in _CARDS.items():
    _files, _link = card(
        _name,
        _place,
        address="02:00:0b:00:00:00",
        carrier="1",
        speed="25000",
        device__vendor="0x15b3",
        device__device="0x101d",
        bonding_slave__perm_hwaddr=_burnt_in,
    )
    _FILES.update(_files)
    _LINKS.update(_link)
for _name in ("bond0", "bond0.110", "virbr0"):
    _files, _link = card(_name, "virtual", carrier="1", speed="50000", address="02:00:0b:00:00:00")
    _FILES.update(_files)
    _LINKS.update(_link)

SMART = {
    "json_format_version": [1, 0],
    "device": {"name": "/dev/nvme0n1", "type": "nvme"},
    "model_name": "Micron_7450",
    "smart_status": {"passed": True, "nvme": {"value": 0}},
}


def _slave(name: str, place: str, burnt_in: str) -> dict[str, object]:
    return {
        "ifname": name,
        "flags": ["BROADCAST", "MULTICAST", "SLAVE", "UP", "LOWER_UP"],
        "mtu": 9000,
        "link_type": "ether",
        "master": "bond0",
        "address": "02:00:0b:00:00:00",
        "linkinfo": {
            "info_slave_kind": "bond",
            "info_slave_data": {"state": "ACTIVE", "mii_status": "UP", "perm_hwaddr": burnt_in},
        },
        "parentbus": "pci",
        "parentdev": place,
        "addr_info": [],
    }


SERVER = Recording(
    files={
        "proc/cmdline": "coreos.live.rootfs_url=http://192.0.2.1/r BOOTIF=01-02-00-0b-00-00-00\n",
        "proc/cpuinfo": "processor\t: 0\n",
        "proc/meminfo": "MemTotal:       396000000 kB\n",
        "proc/sys/kernel/hostname": "node-0.example.org\n",
        "proc/self/mountinfo": "22 1 0:21 / / rw - overlay muster rw\n",
        "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c": b"\x06\0\0\0\x01",
        "sys/class/dmi/id/sys_vendor": "Supermicro\n",
        "sys/class/dmi/id/product_name": "AS -1115CS-TNR\n",
        "sys/class/dmi/id/product_serial": "MSTN1500000\n",
        "sys/class/dmi/id/board_serial": "ABC123\n",
        "sys/class/tpm/tpm0/tpm_version_major": "2\n",
        "dev/ipmi0": "",
        **block(
            "nvme0n1", "259:0", 480_103_981_056, wwid="eui.8ce38ee300000000", device__model="Micron_7450   "
        ),
        **udev(
            "259:0",
            ID_MODEL="Micron_7450_MTFDKBA480TFR",
            ID_SERIAL_SHORT="Y3K0A000000000",
            ID_SERIAL="Micron_7450_MTFDKBA480TFR_Y3K0A000000000",
            ID_WWN="eui.8ce38ee300000000",
            ID_PATH="pci-0000:01:00.0-nvme-1",
        ),
        **block("nvme1n1", "259:1", 1_920_383_410_176, wwid="eui.8ce38ee300000001"),
        **udev("259:1", ID_SERIAL_SHORT="Y3K0A000000001", ID_PATH="pci-0000:02:00.0-nvme-1"),
        **block("nvme1c1n1", "259:2", 1_920_383_410_176, hidden="1"),
        **_FILES,
    },
    links={
        "dev/disk/by-id/nvme-Micron_7450_Y3K0A000000000": "../../nvme0n1",
        "dev/disk/by-id/nvme-eui.8ce38ee300000000": "../../nvme0n1",
        "dev/disk/by-id/nvme-eui.8ce38ee300000000-part1": "../../nvme0n1p1",
        **_LINKS,
    },
    answers={
        "lscpu -J": {
            "lscpu": [
                {"field": "Architecture:", "data": "x86_64"},
                {"field": "CPU(s):", "data": "96"},
                {"field": "Model name:", "data": "AMD EPYC 9454P 48-Core Processor"},
                {"field": "CPU MHz:", "data": "2750.000"},
                {"field": "CPU max MHz:", "data": "3810.7910"},
                {"field": "CPU min MHz:", "data": "1500.0000"},
                {"field": "Flags:", "data": "fpu svm"},
            ]
        },
        "dmidecode -t 17": "\tSize: 192 GB\n\tSize: No Module Installed\n\tSize: 196608 MB\n",
        "systemd-detect-virt --vm": "none\n",
        "ipmitool lan print 1": "IP Address Source  : DHCP Address\nIP Address         : 203.0.113.10\n",
        "ipmitool lan6 print 1 enables": "IPv6/IPv4 Addressing Enables: both\n",
        "ipmitool lan6 print 1 dynamic_addr": (
            "IPv6 Dynamic Address 0:\n    Source/Type:    SLAAC\n    Address:        fe80::1/64\n"
            "    Status:         active\nIPv6 Dynamic Address 1:\n    Source/Type:    DHCPv6\n"
            "    Address:        2001:db8:f::10/64\n    Status:         active\n"
        ),
        "ip -j -d address": [
            _slave("ens1f0", "0000:41:00.0", "02:00:0b:00:00:00"),
            _slave("ens1f1", "0000:41:00.1", "02:00:0b:00:00:01"),
            {
                "ifname": "bond0",
                "flags": ["BROADCAST", "MULTICAST", "MASTER", "UP", "LOWER_UP"],
                "mtu": 9000,
                "link_type": "ether",
                "address": "02:00:0b:00:00:00",
                "linkinfo": {"info_kind": "bond", "info_data": {"mode": "802.3ad", "miimon": 100}},
                "addr_info": [],
            },
            {
                "ifname": "bond0.110",
                "link": "bond0",
                "flags": ["BROADCAST", "MULTICAST", "UP", "LOWER_UP"],
                "mtu": 9000,
                "link_type": "ether",
                "address": "02:00:0b:00:00:00",
                "linkinfo": {
                    "info_kind": "vlan",
                    "info_data": {"protocol": "802.1Q", "id": 110, "flags": ["REORDER_HDR"]},
                },
                "addr_info": [{"family": "inet", "local": "192.0.2.10", "prefixlen": 24}],
            },
            {
                "ifname": "virbr0",
                "flags": ["BROADCAST", "MULTICAST"],
                "mtu": 1500,
                "link_type": "ether",
                "address": "52:54:00:00:00:01",
                "linkinfo": {"info_kind": "bridge", "info_data": {"stp_state": 1}},
                "addr_info": [{"family": "inet", "local": "169.254.7.1", "prefixlen": 16}],
            },
        ],
        "ip -j -4 route show table main": [
            {
                "dst": "default",
                "metric": 400,
                "flags": [],
                "nexthops": [
                    {"gateway": "192.0.2.1", "dev": "bond0.110", "weight": 1},
                    {"via": {"family": "inet6", "host": "fe80::9"}, "dev": "bond0", "weight": 1},
                ],
            },
            {"type": "blackhole", "dst": "10.0.0.0/8", "flags": []},
            {"type": "unreachable", "dst": "default", "dev": "lo", "metric": 4278198272, "flags": []},
        ],
        "ip -j -6 route show table main": "[ ]",
        "od -A n -t x1 -j 510 -N 2 /dev/nvme0n1": " 55 aa\n",
        "od -A n -t x1 -j 510 -N 2 /dev/nvme1n1": " 00 00\n",
        "smartctl -j -H -i /dev/nvme0n1": SMART,
        "smartctl -j -H -i /dev/nvme1n1": {**SMART, "smart_status": {"passed": False}},
        "lsblk -J": {
            "blockdevices": [
                {
                    "name": "nvme0n1",
                    "kname": "nvme0n1",
                    "path": "/dev/nvme0n1",
                    "type": "disk",
                    "pttype": "gpt",
                    "children": [
                        {
                            "name": "nvme0n1p1",
                            "kname": "nvme0n1p1",
                            "path": "/dev/nvme0n1p1",
                            "type": "part",
                            "fstype": "vfat",
                            "label": "EFI-SYSTEM",
                        },
                        {
                            "name": "nvme0n1p2",
                            "kname": "nvme0n1p2",
                            "path": "/dev/nvme0n1p2",
                            "type": "part",
                            "fstype": "xfs",
                            "label": "root",
                        },
                    ],
                },
                {"name": "nvme1n1", "kname": "nvme1n1", "path": "/dev/nvme1n1", "type": "disk"},
            ]
        },
        "pvs": {"report": [{"pv": []}]},
        "nmcli": "ens1f0:B4\\:96\\:91\\:00\\:00\\:01:Eth1/7:to node-0 \\\\ left:leaf-1:110\nens1f1:::::\n\n",
    },
)
