# SPDX-License-Identifier: Apache-2.0
"""What can go wrong while media are made: nothing is lost, and the message says what to do."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from muster.files import lock_folder
from tests.component.agent.making import EXAMPLES, ISO, create, ignition, make
from tests.component.live import KARGS, Live, coreos_installer
from tests.component.muster import run


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"hello\n" * 20_000, "is not an ISO 9660 image"),
        (b"", "is empty"),
        (None, "does not exist"),
    ],
)
def test_a_base_image_that_is_none(site: Path, tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "base.iso"
    if content is not None:
        path.write_bytes(content)
    done = run("agent", "create", "image", "--dir", str(site), "--release-by-tag", "--base-image", str(path))
    assert done.status == 1
    assert said in done.err
    assert "hint:" in done.err
    assert not (site / ISO).exists()


def test_a_base_image_that_was_cut_off(site: Path, tmp_path: Path, build_x86: Live) -> None:
    path = tmp_path / "base.iso"
    data = build_x86.path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    done = run("agent", "create", "image", "--dir", str(site), "--release-by-tag", "--base-image", str(path))
    assert done.status == 1
    assert "hint:" in done.err


def test_a_base_image_is_never_replaced(site: Path, build_x86: Live) -> None:
    shutil.copy(build_x86.path, site / ISO)
    done = run(
        "agent",
        "create",
        "image",
        "--dir",
        str(site),
        "--release-by-tag",
        "--base-image",
        str(site / ISO),
        "--force",
    )
    assert done.status == 1
    assert "is the base image itself" in done.err
    assert (site / ISO).read_bytes() == build_x86.path.read_bytes()


def test_files_of_others_are_not_replaced(site: Path, build_x86: Live) -> None:
    (site / "auth").mkdir()
    (site / "auth/kubeconfig").write_text("mine")
    refused = create(site, build_x86)
    assert refused.status == 1
    assert "not written by Muster, or changed since: auth/kubeconfig" in refused.err
    assert not (site / ISO).exists()
    make(site, build_x86, "image", "--force")
    assert (site / "auth/kubeconfig.bak").read_text() == "mine"
    assert (site / "auth/kubeconfig").read_text() != "mine"


def test_one_run_at_a_time(site: Path, build_x86: Live) -> None:
    with lock_folder(site):
        done = create(site, build_x86)
    assert done.status == 1
    assert "another muster is making something" in done.err


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--valid-for", "soon"), "is not a time span"),
        (("--secrets", "/nowhere"), "no secrets in"),
        (("--sign-key", "/nowhere"), "cannot read /nowhere"),
        (("--ignition-override", "/nowhere"), "cannot read /nowhere"),
        (("--ignition-override", str(EXAMPLES / "README.md")), "--ignition-override cannot be used"),
    ],
)
def test_flags_that_say_nothing(site: Path, build_x86: Live, flags: tuple[str, str], said: str) -> None:
    done = create(site, build_x86, "image", *flags)
    assert done.status == 1
    assert said in done.err
    assert not (site / ISO).exists()


def test_an_image_for_other_machines_is_refused(site: Path, tmp_path: Path) -> None:
    from tests import media

    path = tmp_path / "arm.iso"
    kernel = bytes(0x38) + b"ARM\x64"
    path.write_bytes(media.build(files={"images/pxeboot/vmlinuz": kernel}))
    done = run("agent", "create", "image", "--dir", str(site), "--release-by-tag", "--base-image", str(path))
    assert "is for aarch64, and the hosts of the site are x86_64" in done.err


def test_an_interrupt_leaves_nothing_half_written(site: Path, tmp_path: Path, build_x86: Live) -> None:
    """At many moments: before, while and after the image is copied."""
    base = tmp_path / "large.iso"
    shutil.copy(build_x86.path, base)
    with base.open("r+b") as file:
        file.truncate(base.stat().st_size + (300 << 20))
    arguments = (
        "agent",
        "create",
        "image",
        "--dir",
        str(site),
        "--release-by-tag",
        "--base-image",
        str(base),
    )
    before = {path.name: path.read_bytes() for path in site.iterdir()}
    for wait in (0.0, 0.02, 0.05, 0.1, 0.2):
        process = subprocess.Popen(
            [sys.executable, "-m", "muster.cli", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        while process.poll() is None and not list(site.glob(".*.part")):
            time.sleep(0.001)
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode in (0, 8), err
        assert "Traceback" not in err
        assert not list(site.glob(".*.part"))
        assert {name: (site / name).read_bytes() for name in before} == before
        (site / ISO).unlink(missing_ok=True)
    assert run(*arguments).status == 0
    assert coreos_installer("iso", "ignition", "show", site / ISO)


def test_what_a_killed_run_left_is_removed(site: Path, build_x86: Live) -> None:
    mine = [site / ".notes.part", site / ".notes.12345678.part", site / ".image.part"]
    for path in (site / ".image.12345678.part", site / f".{ISO}.12345678.part", *mine):
        path.write_bytes(b"left over")
    make(site, build_x86)
    assert sorted(site.glob(".*.part")) == sorted(mine)


def test_a_link_stays_one(site: Path, tmp_path: Path, build_x86: Live) -> None:
    elsewhere = tmp_path / "other-disk.iso"
    (site / ISO).symlink_to(elsewhere)
    make(site, build_x86, "image", "--force")
    assert (site / ISO).is_symlink()
    assert ignition(elsewhere)


def test_odd_things_in_the_directory_do_no_harm(site: Path, build_x86: Live) -> None:
    (site / ".#install-config.yaml").symlink_to("nobody@nowhere:1")
    make(site, build_x86)
    (site / "auth/kubeconfig").unlink()
    (site / "auth/kubeconfig").mkdir()
    refused = create(site, build_x86)
    assert refused.status == 1
    assert "is a directory" in refused.err


def test_a_full_disk_leaves_nothing_half_written(site: Path, tmp_path: Path, build_x86: Live) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", small], check=False)
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        place = Path(shutil.copytree(site, small / "site"))
        done = create(place, build_x86)
        assert done.status == 1
        assert "MiB are free there" in done.err
        assert sorted(
            path.name for path in place.iterdir() if path.suffix != ".json" and path.name[0] != "."
        ) == [
            "README.md",
            "agent-config.yaml",
            "install-config.yaml",
        ]
    finally:
        subprocess.run(["umount", small], check=True)


def test_a_base_image_that_was_customized_is_said(site: Path, tmp_path: Path, build_x86: Live) -> None:
    base = tmp_path / "custom.iso"
    coreos_installer("iso", "kargs", "modify", "--append", "quiet", "-o", base, build_x86.path)
    done = run("agent", "create", "image", "--dir", str(site), "--release-by-tag", "--base-image", str(base))
    assert done.status == 0
    assert "was customized before" in done.err
    assert coreos_installer("iso", "kargs", "show", site / ISO).decode().strip() == KARGS
