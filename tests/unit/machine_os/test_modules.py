# SPDX-License-Identifier: Apache-2.0
"""Which modules of the kernel and of GRUB stay, and what else is taken out."""

from __future__ import annotations

from pathlib import Path

import pytest

from muster.errors import ExternalError
from muster.machine_os.grub import SECTOR, bios_code
from muster.machine_os.needs import closure, parse_needs
from muster.machine_os.root import choose_modules, expand, kernel_version, prune_modules, remove
from tests.stand_in import StandIn
from tests.unit.machine_os import builds

NEEDS = parse_needs(
    "kernel/drivers/net/virtio_net.ko.xz: kernel/net/core/failover.ko.xz kernel/drivers/virtio/virtio.ko.xz\n"
    "kernel/net/core/failover.ko.xz:\n"
    "kernel/drivers/virtio/virtio.ko.xz: kernel/lib/ring.ko.xz\n"
    "kernel/lib/ring.ko.xz:\n"
    "kernel/drivers/net/virtio_net_more.ko.xz:\n"
    "kernel/sound/hda.ko.xz: kernel/lib/ring.ko.xz\n"
)


def test_needs_are_followed_to_their_end_and_round_circles() -> None:
    needs = {"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]}
    assert closure(needs, ["a"]) == {"a", "b", "c"}
    assert closure(needs, ["unknown"]) == {"unknown"}
    assert closure(needs, []) == set()


def test_needs_of_grub_are_written_alike() -> None:
    assert parse_needs("linux: boot mmap relocator\nmmap:\n") == {
        "linux": ["boot", "mmap", "relocator"],
        "mmap": [],
    }


def names(*chosen: str) -> set[str]:
    return {f"kernel/{name}.ko.xz" for name in chosen}


def test_a_wanted_module_brings_what_it_needs_and_no_namesake() -> None:
    wanted = names("drivers/net/virtio_net", "net/core/failover", "drivers/virtio/virtio", "lib/ring")
    assert choose_modules(NEEDS, ["drivers/net/virtio_net.ko"]) == wanted


def test_a_wanted_folder_brings_all_in_it() -> None:
    assert choose_modules(NEEDS, ["sound"]) == names("sound/hda", "lib/ring")
    assert choose_modules(NEEDS, ["drivers/ne"]) == set()


def test_a_dot_is_everything() -> None:
    assert choose_modules(NEEDS, ["."]) == set(NEEDS)


def test_pruning_leaves_what_was_chosen(tmp_path: Path) -> None:
    build = builds.make_build(tmp_path)
    base = build.root / "usr/lib/modules/6.12"
    kept, gone = "kernel/drivers/virtio/virtio.ko.xz", "kernel/sound/hda.ko.xz"
    for name in (kept, gone):
        builds.put(base / name)
    builds.put(base / "modules.dep", f"{kept}:\n{gone}: {kept}\n")
    prune_modules(build)
    assert (base / kept).exists()
    assert not (base / gone).exists()
    assert isinstance(build.run, StandIn)
    assert build.run.asked[-1][-2:] == ["depmod", "6.12"]


def test_programs_of_the_root_see_mounts_that_nobody_else_sees(tmp_path: Path) -> None:
    """A folder that is removed after a crash must not have the machine's /dev in it."""
    build = builds.make_build(tmp_path)
    build.inside("true")
    assert isinstance(build.run, StandIn)
    assert build.run.asked[-1][:4] == ["unshare", "--mount", "--propagation", "private"]


def test_there_is_one_kernel(tmp_path: Path) -> None:
    (tmp_path / "usr/lib/modules/6.12").mkdir(parents=True)
    assert kernel_version(tmp_path) == "6.12"
    (tmp_path / "usr/lib/modules/6.13").mkdir()
    with pytest.raises(ExternalError, match="not one kernel but 2"):
        kernel_version(tmp_path)


def test_patterns_with_choices_find_files_folders_and_links(tmp_path: Path) -> None:
    for name in ("cni/dhcp", "cni/vlan", "cni/bridge", "share/man/x"):
        builds.put(tmp_path / name)
    (tmp_path / "link").symlink_to("cni")
    for pattern in ("cni/{dhcp,vlan,none}", "share/man", "link"):
        for path in expand(tmp_path, pattern):
            remove(path)
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()} == {
        "cni/bridge"
    }


def test_bios_code_says_where_the_rest_is() -> None:
    boot, core = bytes(range(256)) * 2, bytes(SECTOR) + b"rest" * 300
    first, rest = bios_code(boot, core, 2048)
    assert len(first) == 440  # The table of partitions follows.
    assert first[0x5C:0x64] == (2048).to_bytes(8, "little")
    assert first[0x66:0x68] == b"\x90\x90"
    assert first[0x68:] == boot[0x68:440]
    assert len(rest) % SECTOR == 0
    assert rest[500:508] == (2049).to_bytes(8, "little")
    assert int.from_bytes(rest[508:510], "little") == len(rest) // SECTOR - 1
    assert rest[SECTOR : len(core)] == core[SECTOR:]
