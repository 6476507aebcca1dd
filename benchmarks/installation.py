# SPDX-License-Identifier: Apache-2.0
"""How long a host takes from power-on to a cluster that is complete, against what it cannot do without.

    python benchmarks/installation.py

Baseline, each part measured alone on the same kind of emulated machine: from the live system to the disk and
back (two boots, and coreos-installer with nobody beside it), and a start of etcd and the API on the node that
came of it. Needs root, and a machine that does nothing else.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.component import muster
from tests.lab.cluster import Site, Stage
from tests.lab.rehearsal import Rehearsal

from boot_os import CACHE, boot, make_live
from muster.cli.machine_os import build_machine_os
from muster.lab.accel import Accel
from muster.toolbox import open_toolbox

HOST = "node1"
CONTROL_PLANE = "etcd kube-apiserver muster-api"
"""The last waits until the API says that it is ready."""
RESTART = (
    f"systemctl stop kubelet kube-controller-manager kube-scheduler kube-proxy {CONTROL_PLANE};"
    f" cut -d ' ' -f 1 /proc/uptime; systemctl start {CONTROL_PLANE}; cut -d ' ' -f 1 /proc/uptime"
)


def there_and_back(folder: Path, base: Path) -> float:
    """Live system, disk written, disk booted."""
    emulator = [*open_toolbox(CACHE).argv("qemu-system-x86_64"), *Accel("tcg", "", "").arguments("x86_64")]
    make_live(folder, base)
    installing = make_live(folder, base, "--dest-ignition", folder / "live.ign", "--dest-device", "/dev/vda")
    disk = folder / "disk.raw"
    with disk.open("wb") as file:
        file.truncate(10 << 30)
    drive = f"file={disk},if=virtio,format=raw,cache=unsafe"
    return boot(folder, emulator, "-cdrom", installing, "-drive", drive)


def install(lab: Rehearsal, site: Site) -> dict[str, float]:
    """Seconds by phase, from power-on until the service says that the cluster is complete."""
    lab.up(site.folder)
    lab.beside("agent", "wait-for", "install-complete", "--dir", site.folder, "--timeout", "30m")
    told = json.loads(lab.run("wait", "--until", f"reports:{HOST}:2", "--output", "json"))
    seconds: dict[str, float] = told["seconds"][HOST]
    return seconds


def start_control_plane(lab: Rehearsal, site: Site) -> float:
    """Seconds until the API answers that was started where nothing else starts."""
    began, ended = lab.ssh(HOST, site.key, "sudo", "sh", "-c", f'"{RESTART}"').split()
    return float(ended) - float(began)


def main() -> None:
    base = build_machine_os(None, "x86_64") / "live.iso"
    store = Path(json.loads(muster.run("release", "build", "--output", "json").out)["store"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        boots = there_and_back(folder, base)
        (folder / "desk").mkdir()
        lab = Rehearsal(folder / "state")
        try:
            site = Stage(folder / "desk", base, store).build("single-node-none", "192.0.2.1")
            phases = install(lab, site)
            start = start_control_plane(lab, site)
        finally:
            lab.end()
    total, least = sum(phases.values()), boots + start
    for phase, seconds in phases.items():
        print(f"  {phase:<32}{seconds:6.1f} s")
    print(f"power-on to a complete cluster    {total:6.1f} s")
    print(f"live, to disk, and back, alone    {boots:6.1f} s")
    print(f"start of etcd and the API, alone  {start:6.1f} s")
    print(f"ratio to the sum of both          {total / least:6.2f}     (bar 1.5)")


if __name__ == "__main__":
    main()
