# SPDX-License-Identifier: Apache-2.0
"""A root file system whose programs do not find their libraries is refused; this machine's own are found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from muster.errors import ExternalError
from muster.machine_os.elf import load_elf
from muster.machine_os.libraries import check_libraries, find_missing, is_there, load_linked, load_places
from muster.machine_os.root import make_image
from tests.stand_in import StandIn
from tests.unit.machine_os import builds
from tests.unit.machine_os.elves import put_library, put_program

MULTIARCH = "usr/lib/x86_64-linux-gnu"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """As Debian lays it out: /lib is a link, and so are most names of libraries."""
    root = tmp_path / "root"
    put_library(root / MULTIARCH / "libc.so.6")
    put_library(root / MULTIARCH / "libperl.so.5.40.1", "libc.so.6", name="libperl.so.5.40")
    (root / MULTIARCH / "libperl.so.5.40").symlink_to("libperl.so.5.40.1")
    put_library(root / MULTIARCH / "libagent.so.40", "libperl.so.5.40", "libc.so.6")
    put_library(root / "usr/lib64/ld.so")
    for name in ("lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    put_program(root / "usr/sbin/keepalived", "libagent.so.40", "libc.so.6")
    builds.put(root / "etc/ld.so.conf.d/multiarch.conf", "# Multiarch\n/lib/x86_64-linux-gnu\n")
    builds.put(root / "usr/bin/script", "#!/bin/sh\n")
    builds.put(root / "usr/bin/empty", "")
    return root


def test_a_whole_system_is_well(root: Path) -> None:
    check_libraries(root)
    assert set(load_linked(root)) == {
        *(f"{MULTIARCH}/{name}" for name in ("libc.so.6", "libperl.so.5.40.1", "libagent.so.40")),
        *("usr/lib64/ld.so", "usr/sbin/keepalived"),
    }


def test_a_library_that_was_taken_out_names_the_program_that_will_not_start(root: Path) -> None:
    (root / MULTIARCH / "libperl.so.5.40.1").unlink()
    with pytest.raises(ExternalError) as caught:
        check_libraries(root)
    assert (
        f"/{MULTIARCH}/libagent.so.40 needs libperl.so.5.40 (so /usr/sbin/keepalived will not start)"
        in caught.value.message
    )
    assert "[tree] remove" in caught.value.hint


def test_a_program_is_named_with_each_library_and_the_loader(root: Path) -> None:
    for name in (f"{MULTIARCH}/libagent.so.40", f"{MULTIARCH}/libc.so.6", "usr/lib64/ld.so"):
        (root / name).unlink()
    with pytest.raises(ExternalError) as caught:
        check_libraries(root)
    for library in ("/lib64/ld.so", "libagent.so.40", "libc.so.6"):
        assert f"/usr/sbin/keepalived needs {library}" in caught.value.message


def test_a_damaged_program_is_named(root: Path) -> None:
    path = root / "usr/sbin/keepalived"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ExternalError, match="keepalived needs to be whole"):
        check_libraries(root)


def test_folders_of_its_own_are_those_of_one_program(root: Path) -> None:
    put_library(root / "opt/app/lib/libown.so.1", "libnext.so.1")
    put_library(root / "opt/app/lib/libnext.so.1")
    put_program(root / "opt/app/bin/app", "libown.so.1", places=("$ORIGIN/../lib",))
    check_libraries(root)
    put_program(root / "usr/bin/other", "libown.so.1")
    with pytest.raises(ExternalError, match=r"/usr/bin/other needs libown\.so\.1"):
        check_libraries(root)


def test_links_are_followed_inside_of_the_root_alone(root: Path, tmp_path: Path) -> None:
    outside = builds.put(tmp_path / "outside", "there")
    (root / "away").symlink_to(outside)
    (root / "up").symlink_to("../outside")
    (root / "round").symlink_to("round")
    (root / "absolute").symlink_to(f"/{MULTIARCH}/libc.so.6")
    assert is_there(root, "/absolute")
    assert is_there(root, "/usr/../lib/x86_64-linux-gnu/libperl.so.5.40")
    assert not any(is_there(root, name) for name in ("/away", "/up", "/round", "/usr", "/none"))


def test_an_image_is_not_made_of_what_cannot_start(tmp_path: Path) -> None:
    build = builds.make_build(tmp_path)
    builds.put(build.root / "etc/hosts")
    put_library(build.root / "usr/lib/x86_64-linux-gnu/libicuuc.so.76")
    put_library(build.root / "usr/lib64/ld.so")
    (build.root / "lib64").symlink_to("usr/lib64")
    put_program(build.root / "usr/bin/reader", "libicuuc.so.76")
    with pytest.raises(ExternalError, match=r"/usr/bin/reader needs libicuuc\.so\.76"):
        make_image(build)
    assert isinstance(build.run, StandIn)
    assert not build.run.asked


@pytest.mark.skipif(not Path("/etc/ld.so.conf.d").is_dir(), reason="no glibc here")
def test_programs_of_this_machine_find_theirs() -> None:
    shell = os.path.realpath("/bin/sh")
    linked = load_elf(Path(shell))
    assert linked is not None
    assert "libc.so.6" in linked.needed
    found = find_missing(
        {shell.lstrip("/"): linked}, lambda name: is_there(Path("/"), name), load_places(Path("/"))
    )
    assert found == []
