# SPDX-License-Identifier: Apache-2.0
"""Where things lie in the disk image and on the medium."""

from __future__ import annotations

import json
import uuid
from itertools import pairwise
from pathlib import Path

import pytest

from muster.errors import MediaError
from muster.image.coreos.kargs import decode_kargs
from muster.image.cpio import parse_archives, render_archive
from muster.machine_os.disk import MIB, derived_uuid, lay_out, render_entry, render_table
from muster.machine_os.medium import HEAD, IMAGE_HASH, ROOTFS_HASH, render_menu, render_stamp, wrap_head
from muster.machine_os.recipe import find_home
from muster.node.disk import CARRIED_HASH
from tests.unit.machine_os import builds

SIZES = {"biosboot": MIB, "EFI": 4 * MIB, "boot": 9 * MIB + 1, "os": 200 * MIB - 512, "root": MIB}
KEY = "0123456789abcdef"


def test_partitions_lie_one_after_the_other_on_whole_mebibytes() -> None:
    places = lay_out(SIZES)
    assert [place.name for place in places] == list(SIZES)
    assert places[0].start == MIB
    for place, following in pairwise(places):
        assert place.end == following.start
    for place in places:
        assert place.start % MIB == place.size % MIB == 0
        assert SIZES[place.name] <= place.size < SIZES[place.name] + MIB


def test_the_table_names_every_partition() -> None:
    table = render_table(lay_out(SIZES), KEY)
    lines = table.splitlines()
    assert lines[:2] == ["label: gpt", f"label-id: {derived_uuid(KEY, 'disk')}"]
    assert lines[2].startswith("start=2048, size=2048, type=21686148-6449-6E6F-744E-656564454649")
    assert [line.rpartition("name=")[2] for line in lines[2:]] == list(SIZES)
    assert table.endswith("\n")


def test_identities_come_from_the_build() -> None:
    found = {derived_uuid(key, name) for key in (KEY, "f" * 16) for name in ("disk", "boot", "os")}
    assert len(found) == 6
    assert derived_uuid(KEY, "disk") == derived_uuid(KEY, "disk")
    assert str(uuid.UUID(derived_uuid(KEY, "disk"))).upper() == derived_uuid(KEY, "disk")


def test_the_entry_is_one_that_coreos_installer_can_edit(tmp_path: Path) -> None:
    build = builds.make_build(tmp_path)
    lines = render_entry(build).splitlines()
    (options,) = [line for line in lines if line.startswith("options ")]
    assert options.endswith(build.recipe.architecture.console)
    assert [line.split()[0] for line in lines] == ["title", "version", "options", "linux", "initrd"]


def test_the_menu_has_its_arguments_where_it_says() -> None:
    template = (find_home() / "boot/live.cfg").read_text("ascii")
    menu, body = render_menu(template, "ignition.firstboot console=ttyS0", 1139)
    info = json.loads(json.dumps(body))
    (file,) = info["files"]
    offset, size = file["offset"], info["size"]
    assert file["path"] == "boot/grub/grub.cfg"
    area = menu[offset : offset + size]
    assert decode_kargs(area) == info["default"] == "ignition.firstboot console=ttyS0"
    assert len(area) == 1139
    assert menu[:offset].endswith(b"/images/pxeboot/vmlinuz ")
    assert menu[offset + size :].decode().splitlines()[1].split()[0] == "initrd"


def test_arguments_that_do_not_fit_are_refused() -> None:
    with pytest.raises(MediaError):
        render_menu("linux @KARGS@\n", "x" * 200, 100)


@pytest.mark.parametrize("key", ["0123456789abcdef", "short", ""])
@pytest.mark.parametrize("size", [4, 240 * MIB, 0xFFFFFFFC])
def test_the_image_begins_where_a_loop_device_can(key: str, size: int) -> None:
    assert len(wrap_head(key, size)) == HEAD == 2048


def test_the_wrapping_is_an_archive_that_the_kernel_unpacks() -> None:
    image = bytes(range(256)) * 16
    whole = wrap_head(KEY, len(image)) + image + render_archive([])
    members = {member.path: member.data for member in parse_archives(whole, "rootfs")}
    assert members["etc/muster-rootfs"].strip() == KEY.encode()
    assert members["muster-os.raw"] == image
    assert whole[HEAD : HEAD + len(image)] == image


def test_the_initrd_knows_what_it_may_fetch_and_install() -> None:
    initrd = render_archive([]) + bytes(2) + bytes(2) + render_stamp("aa 7", "bb 5")
    members = {member.path: member.data for member in parse_archives(initrd, "initrd")}
    assert (members[ROOTFS_HASH], members[IMAGE_HASH]) == (b"aa 7\n", b"bb 5\n")
    sysroot = (find_home() / "initrd/muster-sysroot").read_text("ascii")
    assert f"/{ROOTFS_HASH}" in sysroot
    assert f"/{IMAGE_HASH}" in sysroot
    assert f"/{IMAGE_HASH} {CARRIED_HASH}" in sysroot
