# SPDX-License-Identifier: Apache-2.0
"""What a bundle of a host has in it: programs that are asked, journals, and files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from muster.frozen import dataclass
from muster.support.copying import FILE_BYTES, FOLDER_BYTES, Clean
from muster.support.secrets import clean_config, clean_json, clean_text

_COLUMNS: Final = "NAME,MAJ:MIN,SIZE,RO,TYPE,FSTYPE,MOUNTPOINTS,MODEL,SERIAL,WWN,HCTL,STATE,TRAN,PKNAME"

COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    "dmesg.txt": ("dmesg", "--time-format", "iso"),
    "disks/lsblk.txt": ("lsblk", "--all", "--output", _COLUMNS),
    "disks/lsblk.json": ("lsblk", "--all", "--json", "--bytes", "--output", _COLUMNS),
    "disks/findmnt.txt": ("findmnt", "--output", "TARGET,SOURCE,FSTYPE,OPTIONS,SIZE,USE%"),
    "network/address.txt": ("ip", "-details", "address"),
    "network/link.txt": ("ip", "-details", "-statistics", "link"),
    "network/route-4.txt": ("ip", "-4", "route", "show", "table", "all"),
    "network/route-6.txt": ("ip", "-6", "route", "show", "table", "all"),
    "network/neighbours.txt": ("ip", "neigh"),
    "network/devices.txt": ("nmcli", "--colors", "no", "device", "show"),
    "network/connections.txt": ("nmcli", "--colors", "no", "connection", "show"),
    "network/sockets.txt": ("ss", "--tcp", "--udp", "--all", "--numeric", "--processes"),
    "network/firewall.txt": ("nft", "list", "table", "inet", "muster"),
    "time/clock.txt": ("timedatectl", "status"),
    "time/sources.txt": ("chronyc", "-n", "sources", "-v"),
    "time/tracking.txt": ("chronyc", "-n", "tracking"),
    "machine/kernel.txt": ("uname", "-a"),
    "machine/processes.txt": ("ps", "-e", "-o", "pid,ppid,stat,rss,etime,comm"),
    "units.txt": ("systemctl", "--no-pager", "--full", "--all", "list-units", "muster-*", "kube*", "etcd*"),
    "failed-units.txt": ("systemctl", "--no-pager", "--full", "--plain", "--no-legend", "--failed"),
}


@dataclass(frozen=True)
class Journal:
    """A part of the journal."""

    name: str
    arguments: tuple[str, ...]
    most: int
    """Bytes; of a longer one the end is taken."""


_OURS: Final = ("--unit=muster-*",)
_WARNINGS: Final = ("--priority=warning",)
_NODE: Final = ("--unit=kubelet*", "--unit=kube-*", "--unit=etcd*", "--unit=containerd*", "--unit=crio*")

JOURNALS: Final = (
    Journal("journal.txt", ("--boot=0",), 32 << 20),
    Journal("journal/muster.txt", ("--boot=0", *_OURS), 8 << 20),
    Journal("journal/warnings.txt", ("--boot=0", *_WARNINGS), 8 << 20),
    Journal("journal/node.txt", ("--boot=0", *_NODE), 16 << 20),
    Journal("journal/before-muster.txt", ("--boot=-1", *_OURS), 4 << 20),
    Journal("journal/before-warnings.txt", ("--boot=-1", *_WARNINGS), 4 << 20),
)
"""Those of the start before are called so."""


@dataclass(frozen=True)
class Folder:
    """A file or a folder below the root, and how secrets are taken out of it."""

    name: str
    clean: Clean
    file_bytes: int = FILE_BYTES
    folder_bytes: int = FOLDER_BYTES


FOLDERS: Final = (
    Folder("run/muster", clean_json),
    Folder("var/log/muster", clean_text),
    Folder("etc/assisted", clean_config),
    Folder("etc/muster", clean_json),
    Folder("etc/NetworkManager/system-connections", clean_config),
    Folder("run/NetworkManager/system-connections", clean_config),
    Folder("etc/hostname", clean_text),
    Folder("etc/hosts", clean_text),
    Folder("usr/lib/os-release", clean_text),
    Folder("proc/cmdline", clean_config),
    Folder("proc/meminfo", clean_text),
    Folder("proc/uptime", clean_text),
    Folder("etc/kubernetes/manifests", clean_config),
    Folder("var/log/pods", clean_text, file_bytes=256 << 10, folder_bytes=24 << 20),
)
