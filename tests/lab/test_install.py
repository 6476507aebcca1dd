# SPDX-License-Identifier: Apache-2.0
"""A host installs itself to its disk with the real coreos-installer, and comes back from there."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.component.live import coreos_installer, run
from tests.lab.rehearsal import Rehearsal, answers, ignition, on_link, save_json, save_yaml

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
DISK = "/dev/disk/by-id/virtio-ROOT"
MARK = "muster.test=installed"
KEYFILE = """\
[connection]
id=site
type=ethernet
[ethernet]
mac-address=52:54:00:a1:00:01
[ipv4]
method=manual
address1=192.0.2.10/24,192.0.2.1
[ipv6]
method=disabled
"""
NOT_YET = "#!/bin/sh\necho this is still the medium\nexit 1\n"
GROWN = """\
#!/bin/sh
disk=$(lsblk -nbdo SIZE "$(cat /run/muster/disk)")
root=$(df -B1 --output=size /var | tail -n 1)
echo "$((root * 100 / disk)) percent of the disk"
test "$((root * 100 / disk))" -ge 90
"""
DATA = {
    "disks": [
        {"device": "/dev/disk/by-id/virtio-DATA", "wipeTable": True, "partitions": [{"label": "data"}]},
    ],
    "filesystems": [
        {
            "device": "/dev/disk/by-partlabel/data",
            "format": "ext4",
            "path": "/var/data",
            "wipeFilesystem": True,
        },
    ],
}
MOUNT = """\
[Mount]
What=/dev/disk/by-partlabel/data
Where=/var/data
Type=ext4
[Install]
RequiredBy=local-fs.target
"""
KEPT = "#!/bin/sh\nfindmnt -no SOURCE /var/data && cat /var/data/kept\n"
TABLE = '#!/bin/sh\nsgdisk --verify "$(cat /run/muster/disk)" | grep "No problems found"\n'


def test_a_host_installs_itself_and_comes_back(lab: Rehearsal, desk: Path, machine_os: Path) -> None:
    """UEFI; medium, first boot from the disk with Ignition, which partitions another, second boot without."""
    site = desk / "site"
    shutil.copytree(EXAMPLES / "single-node-none", site)
    disks = [{"sizeGiB": 20, "serial": "ROOT"}, {"sizeGiB": 1, "serial": "DATA"}]
    save_yaml(site / "lab.yaml", {"firmware": "uefi", "machines": [{"name": "node1", "disks": disks}]})
    key = desk / "key"
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
    iso = customize(machine_os / "live.iso", desk, key)

    lab.up(site, "--iso", iso)
    first = lab.wait("healthy")["node1"]

    assert first["root"] == "disk"
    assert first["ignition"]["ran"]
    assert first["hostname"] == "installed"
    assert first["macs"][on_link(first, "192.0.2.10/24")] == "52:54:00:a1:00:01"
    assert first["checks"]["kept"]["said"].split() == ["/dev/vdb1", "kept"]
    words = first["kernelArguments"].split()
    assert {MARK, "ignition.firstboot"} <= {*words}

    lab.restart("node1", key)
    second = lab.wait("healthy")["node1"]

    assert second["root"] == "disk"
    assert second["bootId"] != first["bootId"]
    assert second["machineId"] == first["machineId"]
    assert second["hostname"] == "installed"
    assert second["checks"]["kept"] == first["checks"]["kept"]
    words = second["kernelArguments"].split()
    assert MARK in words
    assert "ignition.firstboot" not in words


def customize(live: Path, desk: Path, key: Path) -> Path:
    """The ISO that installs by itself, as coreos-installer makes it."""
    installed = ignition(
        {"/etc/hostname": "installed\n", "/var/data/kept": "kept\n"},
        {"grown": GROWN, "table": TABLE, "reach": answers("192.0.2.1"), "kept": KEPT},
    )
    installed["storage"] |= DATA
    installed["systemd"] = {"units": [{"name": "var-data.mount", "enabled": True, "contents": MOUNT}]}
    public = key.with_suffix(".pub").read_text().strip()
    installed["passwd"] = {"users": [{"name": "core", "sshAuthorizedKeys": [public]}]}
    # The medium itself never counts as healthy: what is waited for is the disk.
    medium = ignition(checks={"installed": NOT_YET})
    keyfile = desk / "site.nmconnection"
    keyfile.write_text(KEYFILE)
    iso = desk / "installer.iso"
    coreos_installer(
        *("iso", "customize", live, "--output", iso, "--dest-device", DISK),
        *("--dest-ignition", save_json(desk / "dest.ign", installed), "--dest-karg-append", MARK),
        *("--live-ignition", save_json(desk / "live.ign", medium), "--network-keyfile", keyfile),
    )
    return iso
