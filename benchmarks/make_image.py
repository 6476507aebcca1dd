# SPDX-License-Identifier: Apache-2.0
"""How long `muster agent create image` takes on a base image of 1.1 GB, against `cp` of that image.

    python benchmarks/make_image.py [FOLDER]

Baselines: `cp --reflink=never` of the base image to the same disk, and the naive way: unpack the image with
xorriso, put the Ignition config in, author it again, and hash it. FOLDER is where the images go: the disk
decides. Each figure is the least of several runs, taken in turns.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
RUNS = 5
SIZE = 1_100_000_000
LABEL = "bench-live"
KARGS = f"coreos.liveiso={LABEL} ignition.firstboot ignition.platform.id=metal"


@dataclass(frozen=True)
class Cost:
    """What a command took."""

    wall_s: float
    cpu_s: float
    peak_mib: float


def run(*argv: str | Path, env: dict[str, str] | None = None) -> Cost:
    """Run a command, which has to succeed."""
    began = time.monotonic()
    process = subprocess.Popen([str(word) for word in argv], stdout=subprocess.DEVNULL, env=env)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{argv} failed with {process.returncode}")
    return Cost(time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def least(costs: list[Cost]) -> Cost:
    """The figures that whatever else the machine did disturbed least."""
    return Cost(*(min(getattr(cost, name) for cost in costs) for name in ("wall_s", "cpu_s", "peak_mib")))


def build_base(folder: Path) -> Path:
    """A live image of the size of RHEL CoreOS."""
    tree, path = folder / "tree", folder / "base.iso"
    for name in ("images/pxeboot", "EFI/fedora", "coreos"):
        (tree / name).mkdir(parents=True)
    noise = random.Random(1)
    sizes = {"vmlinuz": 14 << 20, "initrd.img": 90 << 20, "rootfs.img": SIZE - (104 << 20)}
    for name, size in sizes.items():
        with (tree / "images/pxeboot" / name).open("wb") as file:
            for _ in range(size >> 20):
                file.write(noise.randbytes(1 << 20))
    (tree / "images/ignition.img").write_bytes(bytes(262144))
    head = "linux /images/pxeboot/vmlinuz "
    (tree / "EFI/fedora/grub.cfg").write_text(head + f"{KARGS}\n".ljust(1139, "#") + "\n")
    areas = [{"path": "EFI/fedora/grub.cfg", "offset": len(head)}]
    texts = {
        "igninfo": {"file": "images/ignition.img"},
        "kargs": {"default": KARGS, "files": areas, "size": 1139},
        "features": {"live-initrd-network": True},
    }
    for name, value in texts.items():
        (tree / f"coreos/{name}.json").write_text(json.dumps(value))
    run(
        "xorriso",
        "-report_about",
        "SORRY",
        "-as",
        "mkisofs",
        "-quiet",
        "-iso-level",
        "1",
        "-r",
        "-V",
        LABEL,
        "-o",
        path,
        tree,
    )
    shutil.rmtree(tree)
    return path


def clear(folder: Path, site: Path) -> None:
    """The same start for everybody: nothing to write back, and as much memory in use."""
    (folder / "copy.iso").unlink(missing_ok=True)
    (site / "agent.x86_64.iso").unlink(missing_ok=True)
    os.sync()


def copy(base: Path, folder: Path) -> Cost:
    """The baseline."""
    return run("cp", "--reflink=never", base, folder / "copy.iso")


def make(base: Path, site: Path, env: dict[str, str]) -> Cost:
    """What is measured."""
    verb = ("agent", "create", "image", "--dir", site, "--base-image", base)
    return run(sys.executable, "-m", "muster.cli", *verb, env=env)


def naive(base: Path, folder: Path) -> Cost:
    """Unpack, change, author again, hash."""
    script = (
        'set -e; rm -rf "$2/unpacked" "$2/naive.iso"; mkdir "$2/unpacked"\n'
        'xorriso -osirrox on -indev "$1" -extract / "$2/unpacked" 2>/dev/null\n'
        'chmod -R u+w "$2/unpacked"; head -c 20000 /dev/urandom > "$2/unpacked/images/ignition.img"\n'
        f'xorriso -as mkisofs -quiet -iso-level 1 -r -V {LABEL} -o "$2/naive.iso" "$2/unpacked" 2>/dev/null\n'
        'sha256sum "$2/naive.iso"; rm -rf "$2/unpacked" "$2/naive.iso"\n'
    )
    return run("sh", "-c", script, "naive", base, folder)


def main() -> None:
    """Print all figures."""
    where = sys.argv[1] if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory(dir=where) as scratch:
        folder = Path(scratch)
        base, site = build_base(folder), folder / "site"
        shutil.copytree(ROOT / "examples/compact-baremetal", site)
        env = {**os.environ, "MUSTER_CACHE": str(folder / "cache")}
        time.sleep(2)  # A file that was just written is not remembered by its times.
        make(base, site, env)
        copies, makes = [], []
        for _ in range(RUNS):
            clear(folder, site)
            copies.append(copy(base, folder))
            clear(folder, site)
            makes.append(make(base, site, env))
        ours, theirs, slow = least(makes), least(copies), naive(base, folder)
        size = base.stat().st_size / 1e9
    rows = [
        (f"cp of {size:.2f} GB", f"{theirs.wall_s:.2f} s, {theirs.cpu_s:.2f} s CPU", "the baseline"),
        ("agent create image, warm", f"{ours.wall_s:.2f} s, {ours.cpu_s:.2f} s CPU", ""),
        ("ratio to cp", f"{ours.wall_s / theirs.wall_s:.2f}", "at most 1.25"),
        ("CPU beyond cp", f"{ours.cpu_s - theirs.cpu_s:.2f} s", "at most 0.5 s"),
        ("peak memory", f"{ours.peak_mib:.0f} MiB", "under 100 MiB"),
        ("unpack, rewrite, hash", f"{slow.wall_s:.2f} s, {slow.cpu_s:.2f} s CPU", "the naive way"),
        ("ratio of the naive way to cp", f"{slow.wall_s / theirs.wall_s:.1f}", ""),
    ]
    for name, figure, bar in rows:
        print(f"{name:<30}{figure:>24}   {bar}")


if __name__ == "__main__":
    main()
