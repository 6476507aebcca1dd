# SPDX-License-Identifier: Apache-2.0
"""How long the machine OS takes from power-on to a unit of ours, and to its disk and back.

    python benchmarks/boot_os.py [RUNS]

Baseline: a plain Debian, cloud kernel and systemd with NetworkManager and ssh, that boots to multi-user
without boot loader or medium (-kernel, -initrd). Both run emulated, with the same machine, in turns; each
figure is the least of the runs. Needs root, and a machine that does nothing else.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from muster.cli.machine_os import build_machine_os
from muster.image.cache.places import find_cache_root
from muster.lab.accel import Accel
from muster.toolbox import open_toolbox

PATIENCE_S = 900
PACKAGES = (
    "systemd,systemd-sysv,udev,dbus,network-manager,openssh-server,initramfs-tools,linux-image-cloud-amd64"
)
UP = "BOOT-IS-UP"
UNIT = f"""[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'echo {UP} >/dev/ttyS0'
[Install]
WantedBy=graphical.target
"""
CACHE = find_cache_root(None, {}, Path.home)
INSTALLER = CACHE / "coreos-installer-0.27.0/bin/coreos-installer"


def call(*argv: str | Path) -> None:
    subprocess.run(
        [str(word) for word in argv], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT
    )


def make_plain(folder: Path) -> Path:
    """The baseline: kernel, initrd and disk of a plain Debian; made once."""
    place = CACHE / "benchmarks" / "plain-debian"
    if not place.is_dir():
        tree = folder / "tree"
        call("mmdebstrap", "--variant=minbase", "--mode=root", f"--include={PACKAGES}", "trixie", tree)
        wants = tree / "etc/systemd/system/graphical.target.wants"
        wants.mkdir(parents=True, exist_ok=True)
        (tree / "etc/systemd/system/up.service").write_text(UNIT)
        (wants / "up.service").symlink_to("../up.service")
        part = folder / "plain"
        part.mkdir()
        for name in ("vmlinuz", "initrd.img"):
            shutil.copyfile(next((tree / "boot").glob(f"{name}-*")), part / name)
        with (part / "disk.raw").open("wb") as file:
            file.truncate(1500 << 20)
        call("mkfs.ext4", "-q", "-F", "-d", tree, part / "disk.raw")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(part, place)
    return place


def make_live(folder: Path, base: Path, *options: str | Path) -> Path:
    """The live ISO with a unit of ours; options go to coreos-installer."""
    config = folder / "live.ign"
    unit = {"name": "up.service", "enabled": True, "contents": UNIT}
    config.write_text(json.dumps({"ignition": {"version": "3.2.0"}, "systemd": {"units": [unit]}}))
    target = folder / f"live{len(options)}.iso"
    chosen = options or ("--live-ignition", config)
    call(INSTALLER, "iso", "customize", *chosen, "-o", target, base)
    return target


def boot(folder: Path, emulator: Sequence[str], *machine: str | Path) -> float:
    """Seconds from the start of the machine until our unit has said so on the serial line."""
    serial = folder / "serial"
    serial.write_bytes(b"")
    argv = [
        *emulator, "-machine", "q35", "-smp", "2", "-m", "2048", "-nodefaults", "-vga", "std",
        "-display", "none", "-serial", f"file:{serial}", "-netdev", "user,id=n",
        "-device", "virtio-net-pci,netdev=n,romfile=",
        *(str(word) for word in machine),
    ]  # fmt: skip
    began = time.monotonic()
    with subprocess.Popen(argv) as process:
        try:
            while UP.encode() not in serial.read_bytes():
                if process.poll() is not None or time.monotonic() - began > PATIENCE_S:
                    raise SystemExit(f"did not come up; the serial line is in {serial}")
                time.sleep(0.1)
            return time.monotonic() - began
        finally:
            process.kill()


def least(runs: int, *measures: Callable[[], float]) -> list[float]:
    """The least of several runs of each, taken in turns."""
    rounds = [[measure() for measure in measures] for _ in range(runs)]
    return [min(column) for column in zip(*rounds, strict=True)]


def main(runs: int) -> None:
    emulator = [
        *open_toolbox(CACHE).argv("qemu-system-x86_64"),
        *Accel("tcg", "", "").arguments("x86_64"),
    ]
    base = build_machine_os(None, "x86_64") / "live.iso"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain, live = make_plain(folder), make_live(folder, base)
        installing = make_live(
            folder, base, "--dest-ignition", folder / "live.ign", "--dest-device", "/dev/vda"
        )
        disk = folder / "disk.raw"

        def boot_plain() -> float:
            return boot(
                folder, emulator, "-kernel", plain / "vmlinuz", "-initrd", plain / "initrd.img",
                "-append", "root=/dev/vda rw console=ttyS0 quiet",
                "-drive", f"file={plain / 'disk.raw'},if=virtio,format=raw,snapshot=on",
            )  # fmt: skip

        def boot_live() -> float:
            return boot(folder, emulator, "-cdrom", live)

        def install() -> float:
            with disk.open("wb") as file:
                file.truncate(10 << 30)
            drive = f"file={disk},if=virtio,format=raw,cache=unsafe"
            return boot(folder, emulator, "-cdrom", installing, "-drive", drive)

        bare, ours, there = least(runs, boot_plain, boot_live, install)
    print(f"plain Debian to multi-user     {bare:6.1f} s")
    print(f"live ISO to a unit of ours     {ours:6.1f} s   {ours / bare:.2f} x plain Debian (bar 1.5)")
    print(f"live, to disk, and back        {there:6.1f} s   {there / ours:.2f} x one boot (bar 2.2)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
