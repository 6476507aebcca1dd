# SPDX-License-Identifier: Apache-2.0
"""How long hosts take from power-on to a cluster that is complete, against what they cannot do without.

    python benchmarks/installation.py [one|three]

Baseline, each part measured alone on as many emulated machines of the same kind, at once: from the live
system to the disk and back (two boots, and coreos-installer with nobody beside it), and a start of the
control plane on the nodes that came of it, a first one there, too: with nothing in etcd, and nothing in
memory. Needs root, and a machine that does nothing else.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.component import muster
from tests.lab.cluster import Site, Stage
from tests.lab.rehearsal import Rehearsal

from boot_os import CACHE, boot, make_live
from muster.cli.machine_os import build_machine_os
from muster.lab.accel import Accel
from muster.toolbox import open_toolbox
from resting import Resting

PROCESSORS = 2
"""Of each machine."""
CONTROL_PLANE = "etcd kube-apiserver muster-api kube-controller-manager kube-scheduler"
"""Those after `muster-api` start when the API says that it is ready."""
HEALTHY = " ".join(f"https://127.0.0.1:{port}/healthz" for port in (10257, 10259))
"""Controllers and scheduler: they do their work."""
FORGET = (
    f"systemctl stop kubelet kube-proxy {CONTROL_PLANE};"
    " rm -rf /var/lib/etcd/member; sync; echo 3 >/proc/sys/vm/drop_caches"
)
START = (
    f"cut -d ' ' -f 1 /proc/uptime; systemctl start {CONTROL_PLANE};"
    f" curl --silent --fail --insecure --retry 600 --retry-delay 1 --retry-all-errors {HEALTHY} >/dev/null;"
    " cut -d ' ' -f 1 /proc/uptime"
)

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Case:
    """A site, and where the lab is in its network."""

    example: str
    leg: str
    hosts: tuple[str, ...]
    """The one that serves the installation first."""


CASES = {
    "one": Case("single-node-none", "192.0.2.1", ("node1",)),
    "three": Case("compact-baremetal", "192.168.10.1", ("master-1", "master-2", "master-3")),
}


def at_once(act: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    found = list(items)
    with ThreadPoolExecutor(len(found)) as pool:
        return list(pool.map(act, found))


def there_and_back(folder: Path, base: Path, count: int) -> float:
    """Live system, disk written, disk booted, by so many machines."""
    accel = Accel("tcg", "", "")
    crowd = accel.arguments("x86_64", is_crowded=count * PROCESSORS > (os.cpu_count() or 1))
    emulator = [*open_toolbox(CACHE).argv("qemu-system-x86_64"), *crowd]
    make_live(folder, base)
    installing = make_live(folder, base, "--dest-ignition", folder / "live.ign", "--dest-device", "/dev/vda")

    def go(number: int) -> float:
        place = folder / f"machine-{number}"
        place.mkdir()
        disk = place / "disk.raw"
        with disk.open("wb") as file:
            file.truncate(10 << 30)
        medium = f"file={installing},media=cdrom,readonly=on"
        drive = f"file={disk},if=virtio,format=raw,cache=unsafe"
        return boot(place, emulator, "-drive", medium, "-drive", drive)

    return max(at_once(go, range(count)))


def install(lab: Rehearsal, site: Site) -> None:
    """From power-on until the service says that the cluster is complete."""
    lab.up(site.folder)
    lab.beside("agent", "wait-for", "install-complete", "--dir", site.folder, "--timeout", "60m")


def phases_of(lab: Rehearsal, host: str) -> dict[str, float]:
    """Seconds by phase."""
    told = json.loads(lab.run("wait", "--until", f"reports:{host}:2", "--output", "json"))
    seconds: dict[str, float] = told["seconds"][host]
    return seconds


def start_control_plane(lab: Rehearsal, site: Site, hosts: tuple[str, ...]) -> float:
    """Seconds until a control plane works that was started where nothing else starts; on all hosts."""

    def run(script: str, host: str) -> str:
        return lab.ssh(host, site.key, "sudo", "sh", "-c", f'"{script}"')

    for host in hosts:  # One after the other: machines that are at work take long to let somebody in.
        run(FORGET, host)
    marks = at_once(lambda host: run(START, host).split(), hosts)
    return max(float(ended) - float(began) for began, ended in marks)


def tell(phases: dict[str, float], rest: float) -> float:
    """Print what the installation took; seconds of all of it."""
    total = sum(phases.values())
    for phase, seconds in phases.items():
        print(f"  {phase:<32}{seconds:6.1f} s")
    print(f"power-on to a complete cluster    {total:6.1f} s")
    print(f"  of it, all processors at rest   {rest:6.1f} s   {rest / total:.1%} (bar 5 %)", flush=True)
    return total


def main(case: Case) -> None:
    base = build_machine_os(None, "x86_64") / "live.iso"
    store = Path(json.loads(muster.run("release", "build", "--output", "json").out)["store"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        boots = there_and_back(folder, base, len(case.hosts))
        (folder / "desk").mkdir()
        lab = Rehearsal(folder / "state")
        try:
            site = Stage(folder / "desk", base, store).build(case.example, case.leg)
            with Resting(folder / "state") as resting:
                install(lab, site)
            total = tell(phases_of(lab, case.hosts[0]), resting.seconds)
            start = start_control_plane(lab, site, case.hosts)
        finally:
            lab.end()
    print(f"live, to disk, and back, alone    {boots:6.1f} s")
    print(f"start of the control plane, alone {start:6.1f} s")
    print(f"ratio to the sum of both          {total / (boots + start):6.2f}     (bar 1.5)")


if __name__ == "__main__":
    main(CASES[sys.argv[1] if len(sys.argv) > 1 else "one"])
