# SPDX-License-Identifier: Apache-2.0
"""What verdicts mean for what happens next."""

from __future__ import annotations

import pytest

from muster.model.wire.inventory import Boot
from muster.model.wire.reports import ContainerImageAvailability, DiskSpeed
from muster.service.validations.fitness import (
    CLUSTER_INPUT,
    VIPS,
    HostGroup,
    blocking,
    cluster_members,
    disk_speed,
    images,
    is_cluster_fit,
    is_fit,
    is_prepared,
    members,
)
from muster.service.validations.registry import CLUSTER, HOST
from muster.service.validations.run import OWN, judge_cluster, judge_host
from tests.unit.service.validations.making import cluster_view, host, host_view, inventory

ADVISORY = {
    "ntp-synced",
    "container-images-available",
    "mtu-valid",
    "inventory-not-partially-truncated",
}
MUST_HOST = {
    "connected",
    "has-inventory",
    "inventory-not-fully-truncated",
    "machine-cidr-defined",
    "hostname-unique",
    "hostname-valid",
}
NEVER_IGNORED = {"disk-encryption-requirements-satisfied"}
"""It could be ignored elsewhere; here that would mean plain disks in place of encrypted ones."""
MUST_CLUSTER = {
    "api-vips-defined",
    "ingress-vips-defined",
    "all-hosts-are-ready-to-install",
    "sufficient-masters-count",
    "pull-secret-set",
}


def test_marks_are_those_of_the_interface() -> None:
    assert {id for id, each in HOST.items() if each.advisory} == ADVISORY
    assert {id for id, each in CLUSTER.items() if each.advisory} == {"platform-requirements-satisfied"}
    assert {id for id, each in HOST.items() if not each.ignorable} - OWN - NEVER_IGNORED == MUST_HOST
    assert {id for id, each in CLUSTER.items() if not each.ignorable} - OWN == MUST_CLUSTER


def test_groups_share_out_all_validations_but_the_advisory() -> None:
    groups: tuple[HostGroup, ...] = ("min_hardware", "required_input", "sufficient")
    found = [id for group in groups for id in members(group)]
    assert sorted(found) == sorted(HOST.keys() - ADVISORY)
    whole = cluster_members("required_input", vips=False) | cluster_members("sufficient")
    assert whole == CLUSTER.keys() - {"platform-requirements-satisfied"}
    assert cluster_members("required_input") == CLUSTER_INPUT | VIPS


def test_a_good_host_and_cluster_are_fit() -> None:
    verdicts = judge_host(host_view())
    for group in ("min_hardware", "required_input", "sufficient", "prepare", "reachable"):
        assert is_fit(group, verdicts)
    assert is_fit("pool", judge_host(host_view(cluster=None)))
    assert is_cluster_fit("required_input", judge_cluster(cluster_view()))
    assert is_cluster_fit("sufficient", judge_cluster(cluster_view()))


def test_what_is_not_known_does_not_pass() -> None:
    assert not is_fit("sufficient", judge_host(host_view(clock_offset_s=None)))
    assert not is_fit("min_hardware", ())
    assert [each.status for each in blocking({"connected"}, ())] == ["pending"]


def test_advice_stops_nothing() -> None:
    assert is_fit("sufficient", judge_host(host_view(ntp_sources=())))


@pytest.mark.parametrize("ignored", [("has-default-route",), ("all",)])
def test_what_is_ignored_passes_and_is_still_said(ignored: tuple[str, ...]) -> None:
    verdicts = judge_host(host_view(inventory=inventory(routes=())))
    assert not is_fit("sufficient", verdicts)
    assert is_fit("sufficient", verdicts, ignored)
    assert {each.id for each in verdicts if each.status == "failure"} == {"has-default-route"}


def test_some_things_cannot_be_ignored() -> None:
    verdicts = judge_host(host_view(silent=True))
    assert not is_fit("sufficient", verdicts, ("all", "connected"))
    of_cluster = judge_cluster(cluster_view(pull_secret=""))
    assert not is_cluster_fit("required_input", of_cluster, ("all",))
    assert [each.id for each in blocking(CLUSTER_INPUT, of_cluster, ("all",), "cluster")] == [
        "pull-secret-set"
    ]


def test_virtual_addresses_are_input_unless_dhcp_gives_them() -> None:
    verdicts = judge_cluster(cluster_view(api_vips=(), ingress_vips=()))
    assert not is_cluster_fit("required_input", verdicts)
    assert is_cluster_fit("required_input", verdicts, vips=False)
    assert not is_cluster_fit("sufficient", verdicts)


def test_preparation_needs_results() -> None:
    assert is_prepared(host())
    assert (disk_speed(host(disk_speeds={})), images(host(images=()))) == ("unknown", "unknown")
    assert not is_prepared(host(images=()))
    assert is_prepared(host(images=()), ("container-images-available",))
    slow = {"/dev/sda": DiskSpeed(tested=True, exit_code=1)}
    assert disk_speed(host(disk_speeds=slow)) == "bad"
    assert images(host(images=(ContainerImageAvailability(name="a", result="failure"),))) == "bad"
    assert images(host(images=(ContainerImageAvailability(name="a"),))) == "unknown"


def test_a_disk_that_must_not_be_written_to_need_not_be_measured() -> None:
    running = inventory(boot=Boot(device_type="persistent"))
    assert is_prepared(host(disk_speeds={}, inventory=running))
    assert is_prepared(host(disk_speeds={}, installer_args='["--save-partlabel", "data"]'))
    assert not is_prepared(host(disk_speeds={}))
