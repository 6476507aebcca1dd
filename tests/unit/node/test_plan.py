# SPDX-License-Identifier: Apache-2.0
"""What happens to disks is decided before, and what cannot be done is said with a reason and a way out."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from muster.errors import ExternalError, UserError
from muster.model.installer_args import parse_installer_args
from muster.model.wire.steps import InstallCmdRequest
from muster.node.plan import DiskFacts, Image, check_identity, identify, make_plan, render_capacity

GB = 10**9
SDA = DiskFacts(
    path="/dev/sda",
    size_bytes=480 * GB,
    by_id="/dev/disk/by-id/wwn-0x5001",
    links=("/dev/disk/by-id/wwn-0x5001", "/dev/disk/by-path/pci-0000:00:1f.2-ata-1"),
    serial="X",
    wwn="0x5001",
    content="LVM vg0",
)
SDB = replace(SDA, path="/dev/sdb", links=(), by_id="", serial="Y", wwn="0x5002", content="")
IMAGE = Image("/run/muster/metal", 2 * GB)


def request(disk: str = "/dev/sda", **more: Any) -> InstallCmdRequest:
    return InstallCmdRequest(
        cluster_id="c",
        infra_env_id="i",
        host_id="h",
        role="master",
        boot_device=disk,
        controller_image="",
        installer_image="",
        **more,
    )


def test_the_plan_names_the_disk_and_what_is_lost() -> None:
    plan = make_plan(request("/dev/disk/by-id/wwn-0x5001"), [SDA, SDB], IMAGE)
    assert plan.sentence == "erase disk /dev/sda (serial X, 480 GB), which contains LVM vg0"
    assert plan.args == ("--image-file=/run/muster/metal", "--insecure")
    assert plan.image == "/run/muster/metal"
    assert plan.erased == (identify(SDA),)


def test_coreos_brings_its_image_in_its_own_way() -> None:
    plan = make_plan(request(), [SDA], None)
    assert plan.args == ("--offline",)
    assert plan.image == ""


def test_an_image_of_people_has_to_be_signed_and_is_not_compared() -> None:
    args = json.dumps(["--image-url", "https://example.com/metal.raw.xz", "-n"])
    plan = make_plan(request(installer_args=args), [SDA], IMAGE)
    assert plan.args == ("--image-url=https://example.com/metal.raw.xz", "--copy-network")
    assert plan.image == ""


def test_a_host_keeps_the_network_that_it_was_given() -> None:
    args = json.dumps(["--append-karg", "ip=52-54-00-a1-00-01:dhcp", "--append-karg", "quiet"])
    copied = make_plan(request(installer_args=args), [SDA], None, has_profiles=True)
    assert copied.args == ("--offline", "--append-karg=quiet", "--copy-network")
    told = make_plan(request(installer_args=args), [SDA], None)
    assert told.args == ("--offline", "--append-karg=ip=52-54-00-a1-00-01:dhcp", "--append-karg=quiet")


def test_disks_to_format_are_named_once_and_missing_ones_are_left_out() -> None:
    wanted = ("/dev/sdb", "/dev/sdb", "/dev/sdz", "/dev/sda")
    plan = make_plan(request(disks_to_format=wanted), [SDA, SDB], None)
    assert plan.formatted == (identify(SDB),)
    assert plan.erased == (identify(SDA), identify(SDB))
    assert plan.sentence.endswith("; empty disk /dev/sdb (serial Y, 480 GB)")


@pytest.mark.parametrize(
    "more",
    [{"skip_installation_disk_cleanup": True}, {"installer_args": '["--save-partindex", "5-"]'}],
    ids=["asked", "saves partitions"],
)
def test_a_disk_of_which_something_stays_is_not_emptied(more: dict[str, Any]) -> None:
    plan = make_plan(request(disks_to_format=("/dev/sdb",), **more), [SDA, SDB], IMAGE)
    assert plan.erased == (identify(SDB),)
    assert "erase disk /dev/sda" not in plan.sentence


@pytest.mark.parametrize(
    ("disk", "what", "fix"),
    [
        (
            replace(SDA, path="/dev/sdc", links=()),
            "the disk /dev/sda is not there; this host has: /dev/sdc",
            "connected",
        ),
        (replace(SDA, is_medium=True), "what this host was started from", "another installation disk"),
        (replace(SDA, mounted=("/dev/sda1 at /mnt",)), "in use: /dev/sda1 at /mnt", "unmount"),
        (
            replace(SDA, member_of="/dev/mapper/mpatha"),
            "one path to the multipath device",
            "/dev/mapper/mpatha",
        ),
        (replace(SDA, kind="rom"), "optical drive", "another"),
        (replace(SDA, read_only=True), "read-only", "write protection"),
        (replace(SDA, size_bytes=GB), "too small: it has 1.0 GB, the system's image 2.0 GB", "another"),
    ],
)
def test_what_cannot_be_done(disk: DiskFacts, what: str, fix: str) -> None:
    with pytest.raises(UserError) as caught:
        make_plan(request(), [disk], IMAGE)
    assert what in caught.value.message
    assert fix in caught.value.hint


@pytest.mark.parametrize("twin", [replace(SDB, wwn="0x5001"), replace(SDB, serial="X", wwn="")])
def test_two_disks_of_one_name_are_refused_unless_the_place_tells_them_apart(twin: DiskFacts) -> None:
    for name in ("/dev/disk/by-id/wwn-0x5001", "/dev/sda"):
        with pytest.raises(UserError, match="/dev/sda and /dev/sdb both say"):
            make_plan(request(name), [SDA, twin], IMAGE)
    plan = make_plan(request("/dev/disk/by-path/pci-0000:00:1f.2-ata-1"), [SDA, twin], IMAGE)
    assert plan.disk.path == "/dev/sda"


def test_namespaces_of_one_drive_and_paths_of_a_multipath_device_are_no_twins() -> None:
    namespace = replace(SDB, serial="X")
    path = replace(SDB, wwn="0x5001", member_of="/dev/sda")
    assert make_plan(request(), [SDA, namespace, path], IMAGE).disk == identify(SDA)


@pytest.mark.parametrize(
    "now", [replace(SDA, serial="other"), replace(SDA, wwn="0x1"), replace(SDA, size_bytes=481 * GB)]
)
def test_another_disk_at_the_same_path_is_noticed(now: DiskFacts) -> None:
    planned = identify(SDA)
    check_identity(planned, [SDA])
    with pytest.raises(
        ExternalError, match=r"/dev/sda is another disk than planned: it was /dev/sda \(serial X"
    ):
        check_identity(planned, [now])


def test_a_disk_that_is_gone_or_came_into_use_is_noticed() -> None:
    with pytest.raises(ExternalError, match="is not there any more"):
        check_identity(identify(SDA), [SDB])
    with pytest.raises(UserError, match="in use"):
        check_identity(identify(SDA), [replace(SDA, mounted=("/dev/sda1 at /mnt",))])


def test_no_value_of_people_can_be_taken_for_an_option() -> None:
    given = [
        "--append-karg",
        "--insecure",
        "--delete-karg=quiet",
        "--save-partindex",
        "-7",
        "--append-karg",
        "a=b",
    ]
    words = parse_installer_args(json.dumps(given)).words
    assert words == (
        "--append-karg=--insecure",
        "--delete-karg=quiet",
        "--save-partindex=-7",
        "--append-karg=a=b",
    )


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (["--insecure"], "an image that nobody signed"),
        (["--copy-network=yes"], "it is not one of"),
        (["--config-file", "/etc/x"], "it is not one of"),
        (["/dev/sdb"], "it is not one of"),
        (["--append-karg"], "no value follows it"),
        (["--append-karg", "a b"], "a space or another character"),
        (["--append-karg", "a\nb"], "a space or another character"),
    ],
)
def test_options_that_are_refused(given: list[str], why: str) -> None:
    with pytest.raises(UserError, match="coreos-installer is not given") as caught:
        parse_installer_args(json.dumps(given))
    assert why in caught.value.message


@pytest.mark.parametrize("text", ["{}", "[1]", "nonsense"])
def test_arguments_that_cannot_be_read(text: str) -> None:
    with pytest.raises(UserError, match="no JSON list of words"):
        parse_installer_args(text)


def test_capacities_are_those_on_the_label() -> None:
    shown = [render_capacity(size) for size in (512, 64 * 10**6, 480 * GB, 1_920 * GB, 10**13)]
    assert shown == ["512 bytes", "64 MB", "480 GB", "1.9 TB", "10 TB"]
